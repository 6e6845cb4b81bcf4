INSERT INTO schema_layouts (schema_id, revision, layout, updated_by, updated_at)
VALUES ($1::uuid, $2::bigint, $3::text, $4::text, $5::timestamptz)
ON CONFLICT (schema_id) DO UPDATE SET revision = $2, layout = $3, updated_by = $4, updated_at = $5
