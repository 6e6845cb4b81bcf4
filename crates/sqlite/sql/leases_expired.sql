SELECT e.id, e.schema_id, e.schema_version
FROM execution_state s INDEXED BY execution_state_by_lease
CROSS JOIN executions e ON e.id = s.execution_id
WHERE s.lease_until IS NOT NULL AND s.lease_until <= ?1
ORDER BY s.execution_id
LIMIT ?2
