DELETE FROM sessions WHERE hash = $1::bytea RETURNING hash
