INSERT INTO webhooks (schema_id, name, method, path, shape, definition) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
