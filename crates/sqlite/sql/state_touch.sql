UPDATE execution_state SET version = version + 1 WHERE execution_id = ?1
