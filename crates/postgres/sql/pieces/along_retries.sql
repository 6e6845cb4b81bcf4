FROM executions e
WHERE e.retry_of = $16 AND e.id < $1 AND e.id >= $22 AND e.id <= $23
