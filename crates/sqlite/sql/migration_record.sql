INSERT INTO schema_migrations (version, name, checksum, applied_at)
VALUES (?1, ?2, ?3, CAST(unixepoch('subsec') * 1000000 AS INTEGER))
