SELECT id, text, created_by, created_at FROM execution_notes WHERE execution_id = ?1 ORDER BY id
