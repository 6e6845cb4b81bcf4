FROM executions e INDEXED BY executions_by_origin
WHERE e.retry_of = ?18 AND e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
