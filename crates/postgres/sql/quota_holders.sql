SELECT execution_id, since
FROM quota_holders
WHERE quota = $1::text
ORDER BY since, execution_id
LIMIT $2::bigint
