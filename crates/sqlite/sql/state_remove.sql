DELETE FROM execution_state WHERE execution_id = ?1
