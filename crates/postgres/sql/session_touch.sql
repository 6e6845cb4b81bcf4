UPDATE sessions SET used_at = $2::timestamptz WHERE hash = $1::bytea AND used_at <= $3::timestamptz
RETURNING hash
