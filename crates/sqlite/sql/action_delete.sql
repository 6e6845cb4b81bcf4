DELETE FROM scheduled_actions WHERE id = ?1
