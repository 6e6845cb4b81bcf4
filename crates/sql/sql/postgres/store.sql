-- Tables of a Pawl store in this schema that the role can write to.
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname IN ('api_keys', 'execution_state') AND c.relkind IN ('r', 'p')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
