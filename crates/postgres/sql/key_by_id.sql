SELECT id, name, role, email, created_by, created_at, expires_at, last_used_at, revoked_at
FROM api_keys
WHERE id = $1::uuid
