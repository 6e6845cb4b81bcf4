-- Two who save the same schema take turns.
SELECT id, name, description, external_id, active, latest_version, created_at, updated_at
FROM schemas
WHERE id = $1::uuid AND deleted_at IS NULL
FOR UPDATE
