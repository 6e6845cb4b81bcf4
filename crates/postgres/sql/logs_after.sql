SELECT number, seq, node_id, level, message, created_at
FROM execution_logs
WHERE execution_id = $1::uuid AND number > $2::bigint
ORDER BY number
LIMIT $3::bigint
