SELECT id, guid, meta, spec, status
FROM scheduled_actions
WHERE finished_at IS NULL AND id >= $1::text AND id < $2::text
ORDER BY id
LIMIT $3::bigint
