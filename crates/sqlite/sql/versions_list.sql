SELECT schema_id, version, language, hash, definition, created_by, owner, created_at, NULL AS source, source_format, note
FROM schema_versions
WHERE schema_id = ?1
ORDER BY version DESC
