SELECT id, guid, meta, spec, status
FROM scheduled_actions INDEXED BY scheduled_actions_due
WHERE finished_at IS NULL AND (scheduled_at, id) > (?1, ?2) AND scheduled_at < ?3
ORDER BY scheduled_at, id
LIMIT ?4
