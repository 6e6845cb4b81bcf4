FROM executions e
WHERE e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
