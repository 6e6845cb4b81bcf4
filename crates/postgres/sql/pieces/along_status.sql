FROM executions e
WHERE e.status <> 4 AND e.status = w.status AND e.id < $1 AND e.id >= $22 AND e.id <= $23
