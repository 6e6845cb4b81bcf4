UPDATE state SET version = version + 1, payload = ?2 WHERE execution_id = ?1
