SELECT id, guid, meta, spec, status
FROM scheduled_actions
WHERE id >= ?1 AND id < ?2
ORDER BY id
LIMIT ?3
