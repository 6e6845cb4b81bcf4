DELETE FROM scheduled_actions WHERE id = ?1 AND finished_at < ?2
