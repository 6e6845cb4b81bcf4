INSERT INTO api_keys (id, name, role, hash, created_by, created_at, expires_at)
VALUES ($1::uuid, $2::text, $3::text, $4::bytea, $5::text, $6::timestamptz, $7::timestamptz)
ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
RETURNING id
