UPDATE api_keys SET revoked_at = $2::timestamptz WHERE id = $1::uuid AND revoked_at IS NULL
