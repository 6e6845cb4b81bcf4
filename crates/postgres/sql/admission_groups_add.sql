INSERT INTO admission_groups (priority, quotas)
SELECT x.priority, x.quotas
FROM unnest($1::smallint[], $2::text[]) AS x (priority, quotas)
ORDER BY x.priority, x.quotas COLLATE "C"
ON CONFLICT DO NOTHING
