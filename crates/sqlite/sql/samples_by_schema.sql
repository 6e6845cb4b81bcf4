SELECT id, status, created_at, finished_at FROM executions INDEXED BY executions_by_schema
WHERE schema_id = ?4 AND id >= ?1 AND id < ?2 AND NOT trial
ORDER BY id
LIMIT ?3
