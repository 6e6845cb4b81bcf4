INSERT INTO dead_letters (execution_id, reason, message, created_at) VALUES (?1, ?2, ?3, ?4)
