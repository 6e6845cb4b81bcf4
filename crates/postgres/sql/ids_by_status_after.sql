SELECT id FROM executions
WHERE status <> 4 AND status = ANY ($1::smallint[]) AND id > $2::uuid
ORDER BY id
LIMIT $3::bigint
