INSERT INTO schema_pins (schema_id, node_id, handle, output, bytes, updated_by, updated_at)
VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::bigint, $6::text, $7::timestamptz)
ON CONFLICT (schema_id, node_id) DO UPDATE SET handle = $3, output = $4, bytes = $5, updated_by = $6, updated_at = $7
