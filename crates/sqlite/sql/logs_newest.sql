SELECT number, seq, node_id, level, message, created_at
FROM execution_logs
WHERE execution_id = ?1 AND number < ?2
  AND CASE level WHEN 'debug' THEN 0 WHEN 'warn' THEN 2 WHEN 'error' THEN 3 ELSE 1 END >= ?3
  AND (?4 IS NULL OR node_id = ?4)
ORDER BY number DESC
LIMIT ?5
