SELECT count(*)
FROM quota_holders h
JOIN executions e ON e.id = h.execution_id
WHERE h.quota = ?1 AND e.status NOT IN (4, 5, 6, 11)
