SELECT key_hash, created_at, used_at FROM sessions WHERE hash = $1::bytea
