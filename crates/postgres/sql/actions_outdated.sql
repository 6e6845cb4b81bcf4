SELECT id
FROM scheduled_actions
WHERE finished_at IS NOT NULL AND finished_at < $1::timestamptz
ORDER BY finished_at, id
LIMIT $2::bigint
