INSERT INTO schemas (id, name, description, active, latest_version, created_at, updated_at) VALUES (?1, ?2, ?3, 1, 1, ?4, ?4)
