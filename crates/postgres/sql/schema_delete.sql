UPDATE schemas SET active = false, deleted_at = $2::timestamptz, updated_at = $2 WHERE id = $1::uuid AND deleted_at IS NULL
RETURNING id
