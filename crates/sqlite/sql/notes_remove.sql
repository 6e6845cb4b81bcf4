DELETE FROM execution_notes WHERE execution_id = ?1
