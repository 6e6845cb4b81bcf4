FROM executions e
WHERE e.id = ANY ($21) AND e.id < $1 AND e.id >= $22 AND e.id <= $23
