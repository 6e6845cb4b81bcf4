SELECT h.quota, h.execution_id
FROM quota_holders h
JOIN unnest($1::text[], $2::uuid[]) AS x (quota, execution_id)
  ON h.quota = x.quota AND h.execution_id = x.execution_id
