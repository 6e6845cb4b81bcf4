SELECT id, status, created_at, finished_at FROM executions
WHERE id >= ?1 AND id < ?2 AND NOT trial
ORDER BY id
LIMIT ?3
