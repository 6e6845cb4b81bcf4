-- The order names the time too, or the server does not see that the index has it.
SELECT id, guid, meta, spec, status
FROM scheduled_actions
WHERE finished_at IS NULL AND scheduled_at IS NULL AND id > $1::text
ORDER BY scheduled_at, id
LIMIT $2::bigint
