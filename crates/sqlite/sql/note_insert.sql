INSERT INTO execution_notes (execution_id, id, text, created_by, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
