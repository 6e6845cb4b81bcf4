SELECT 1 FROM signals WHERE execution_id = ?1 AND id = ?2
