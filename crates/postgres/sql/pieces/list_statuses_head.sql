-- Each status along its part of the small index.
SELECT found.id FROM unnest($2::smallint[]) w (status) CROSS JOIN LATERAL (
SELECT e.id
