INSERT INTO webhooks (schema_id, name, method, path, shape, definition)
VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text)
