SELECT coalesce(pg_total_relation_size(to_regclass($1::text)), 0)
