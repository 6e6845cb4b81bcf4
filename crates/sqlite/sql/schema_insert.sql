INSERT INTO schemas (id, name, description, external_id, active, latest_version, created_at, updated_at) VALUES (?1, ?2, ?3, ?5, 1, 1, ?4, ?4)
