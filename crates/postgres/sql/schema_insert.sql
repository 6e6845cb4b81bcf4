INSERT INTO schemas (id, name, description, external_id, active, latest_version, created_at, updated_at)
VALUES ($1::uuid, $2::text, $3::text, $5::bigint, true, 1, $4::timestamptz, $4)
ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING
RETURNING id
