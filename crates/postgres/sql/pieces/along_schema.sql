FROM executions e
WHERE e.schema_id = $3 AND e.id < $1 AND e.id >= $22 AND e.id <= $23
