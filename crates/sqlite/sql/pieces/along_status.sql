FROM executions e INDEXED BY executions_by_status
WHERE e.status <> 4 AND e.status = ?10 AND e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
