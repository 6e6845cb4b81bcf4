SELECT id
FROM scheduled_actions INDEXED BY scheduled_actions_ended
WHERE finished_at IS NOT NULL AND finished_at < ?1
ORDER BY finished_at, id
LIMIT ?2
