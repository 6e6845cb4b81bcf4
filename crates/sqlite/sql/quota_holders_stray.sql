DELETE FROM quota_holders
WHERE quota = ?1
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = execution_id AND e.status NOT IN (4, 5, 6, 11))
