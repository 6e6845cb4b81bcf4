DELETE FROM quota_holders h
WHERE h.quota = ANY($1::text[])
  AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = h.execution_id AND e.status NOT IN (4, 5, 6, 11))
