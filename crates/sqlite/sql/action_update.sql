UPDATE scheduled_actions SET guid = ?2, status = ?3, scheduled_at = ?4, finished_at = ?5 WHERE id = ?1
