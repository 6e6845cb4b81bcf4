DELETE FROM execution_steps WHERE execution_id = ?1
