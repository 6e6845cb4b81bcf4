-- The partitions of one table, as text like FOR VALUES FROM ('…') TO ('…').
SELECT c.relname::text, coalesce(pg_get_expr(c.relpartbound, c.oid), '')
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1::text)
