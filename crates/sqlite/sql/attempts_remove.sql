DELETE FROM action_attempts WHERE action_id = ?1
