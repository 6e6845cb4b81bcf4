FROM executions e INDEXED BY executions_by_schema
WHERE e.schema_id = ?3 AND e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
