SELECT id, name, role, email, created_by, created_at, expires_at, last_used_at, revoked_at
FROM api_keys
WHERE hash = $1::bytea
