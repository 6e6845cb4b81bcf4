SELECT id, status, created_at, finished_at FROM executions INDEXED BY executions_by_schema
WHERE schema_id = ?1 AND NOT trial
ORDER BY id DESC
LIMIT ?2
