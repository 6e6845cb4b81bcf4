INSERT INTO schema_migrations (version, name, checksum) VALUES ($1::bigint, $2::text, $3::text)
