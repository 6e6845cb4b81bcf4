UPDATE signals SET consumed_seq = ?3 WHERE execution_id = ?1 AND id = ?2 AND consumed_seq IS NULL
