SELECT count(*) FROM unnest($2::smallint[]) w (status) CROSS JOIN LATERAL (
SELECT e.id
