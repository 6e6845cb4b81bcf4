DELETE FROM signals WHERE execution_id = ?1
