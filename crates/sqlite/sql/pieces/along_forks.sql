FROM executions e INDEXED BY executions_by_fork
WHERE e.forked_from = ?19 AND e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
