SELECT id, execution_id, reason, created_at FROM dead_letters WHERE id > ?1 ORDER BY id LIMIT ?2
