DELETE FROM execution_logs WHERE execution_id = ?1
