SELECT count(*) FROM scheduled_actions WHERE substr(id, 1, length(?1)) = ?1
