INSERT INTO schema_versions (schema_id, version, language, hash, definition, created_by, owner, created_at, source, source_format, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
