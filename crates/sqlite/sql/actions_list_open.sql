SELECT id, guid, meta, spec, status
FROM scheduled_actions INDEXED BY scheduled_actions_open
WHERE finished_at IS NULL AND id >= ?1 AND id < ?2
ORDER BY id
LIMIT ?3
