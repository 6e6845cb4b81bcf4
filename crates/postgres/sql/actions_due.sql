SELECT id, guid, meta, spec, status
FROM scheduled_actions
WHERE finished_at IS NULL AND (scheduled_at, id) > ($1::timestamptz, $2::text) AND scheduled_at < $3::timestamptz
ORDER BY scheduled_at, id
LIMIT $4::bigint
