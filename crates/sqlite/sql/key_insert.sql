INSERT INTO api_keys (id, name, role, hash, email, created_by, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
