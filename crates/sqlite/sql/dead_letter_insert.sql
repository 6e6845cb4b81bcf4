INSERT INTO dead_letters (execution_id, reason, created_at) VALUES (?1, ?2, ?3)
