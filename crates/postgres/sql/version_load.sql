SELECT schema_id, version, language, hash, definition, created_by, owner, created_at, source, source_format, note
FROM schema_versions
WHERE schema_id = $1::uuid AND version = $2::integer
