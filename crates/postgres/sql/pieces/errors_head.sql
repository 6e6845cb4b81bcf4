-- A row that does not fit has no code, as one without an error; all of them together are the rows looked at.
SELECT looked.code, looked.schema_id, looked.node, count(*), count(*) FILTER (WHERE looked.is_open), max(looked.id::text)::uuid
FROM unnest($2::smallint[]) w (status) CROSS JOIN LATERAL (
SELECT CASE WHEN
