SELECT id, name, description, external_id, active, latest_version, created_at, updated_at
FROM schemas
WHERE name = $1::text AND deleted_at IS NULL
