INSERT INTO steps (execution_id, seq, payload) VALUES (?1, ?2, ?3)
