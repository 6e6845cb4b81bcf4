SELECT id, guid, meta, spec, status
FROM scheduled_actions INDEXED BY scheduled_actions_open
WHERE finished_at IS NULL AND id >= ?1 AND id < ?2 AND (?4 IS NULL OR scheduled_at < ?4)
ORDER BY id
LIMIT ?3
