SELECT number, seq, node_id, level, message, created_at
FROM execution_logs
WHERE execution_id = $1::uuid AND number > $2::bigint
  AND CASE level WHEN 'debug' THEN 0 WHEN 'warn' THEN 2 WHEN 'error' THEN 3 ELSE 1 END >= $3::bigint
  AND ($4::text IS NULL OR node_id = $4::text)
ORDER BY number
LIMIT $5::bigint
