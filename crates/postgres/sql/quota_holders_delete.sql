DELETE FROM quota_holders h
USING unnest($1::text[], $2::uuid[]) AS x (quota, execution_id)
WHERE h.quota = x.quota AND h.execution_id = x.execution_id
RETURNING h.quota, h.execution_id
