SELECT id, guid, meta, spec, status
FROM scheduled_actions INDEXED BY scheduled_actions_due
WHERE finished_at IS NULL AND scheduled_at IS NULL AND id > ?1
ORDER BY id
LIMIT ?2
