FROM executions e
WHERE e.forked_from = $17 AND e.id < $1 AND e.id >= $22 AND e.id <= $23
