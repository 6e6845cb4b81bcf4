UPDATE schemas SET active = $2::boolean, updated_at = $3::timestamptz WHERE id = $1::uuid AND deleted_at IS NULL
RETURNING id
