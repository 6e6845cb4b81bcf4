INSERT INTO schema_versions (schema_id, version, language, hash, definition, created_by, owner, created_at, source, source_format, note)
VALUES ($1::uuid, $2::integer, $3::integer, $4::text, $5::text, $6::text, $7::json, $8::timestamptz, $9::text, $10::text, $11::text)
