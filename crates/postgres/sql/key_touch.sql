UPDATE api_keys SET last_used_at = $2::timestamptz
WHERE id = $1::uuid AND (last_used_at IS NULL OR last_used_at <= $3::timestamptz)
RETURNING id
