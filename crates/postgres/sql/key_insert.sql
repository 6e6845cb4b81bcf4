INSERT INTO api_keys (id, name, role, hash, email, created_by, created_at, expires_at)
VALUES ($1::uuid, $2::text, $3::text, $4::bytea, $5::text, $6::text, $7::timestamptz, $8::timestamptz)
ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING
RETURNING id
