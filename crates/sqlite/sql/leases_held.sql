SELECT execution_id
FROM execution_state INDEXED BY execution_state_by_lease
WHERE lease_until IS NOT NULL
LIMIT ?1
