-- Tables that were partitions of this one and have not been dropped yet: a process was interrupted.
SELECT c.relname::text
FROM pg_class c
JOIN pg_class parent ON parent.oid = to_regclass($1::text) AND parent.relnamespace = c.relnamespace
WHERE c.relkind = 'r' AND NOT c.relispartition AND c.relname ~ ('^' || $1 || '_[wp][0-9a-f]+$')
ORDER BY c.relname
