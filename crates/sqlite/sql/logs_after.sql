SELECT number, seq, node_id, level, message, created_at
FROM execution_logs
WHERE execution_id = ?1 AND number > ?2
ORDER BY number
LIMIT ?3
