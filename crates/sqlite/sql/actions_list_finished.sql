SELECT id, guid, meta, spec, status
FROM scheduled_actions INDEXED BY scheduled_actions_finished
WHERE finished_at IS NOT NULL AND id >= ?1 AND id < ?2
ORDER BY id
LIMIT ?3
