-- A row that does not fit has no code, as one without an error; all of them together are the rows looked at.
SELECT code, schema_id, node, count(*), sum(is_open), max(id) FROM (
SELECT CASE WHEN
