SELECT id FROM executions INDEXED BY executions_by_status
WHERE status <> 4 AND status = ?1 AND id > ?2
ORDER BY id
LIMIT ?3
