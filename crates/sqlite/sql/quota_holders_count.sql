SELECT h.quota, count(*)
FROM quota_holders h
JOIN executions e ON e.id = h.execution_id
WHERE e.status NOT IN (4, 5, 6, 11)
GROUP BY h.quota
