INSERT INTO admission_line (group_id, key, execution_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
