SELECT id, name, description, external_id, active, latest_version, coalesce(published_version, latest_version) AS published_version, created_at, updated_at
FROM schemas
WHERE name = $1::text AND deleted_at IS NULL
