SELECT seq, context FROM execution_snapshots
WHERE execution_id = $1::uuid AND seq <= $2::bigint
ORDER BY seq DESC
LIMIT 1
