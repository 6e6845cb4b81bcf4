DELETE FROM sessions WHERE used_at < $1::timestamptz OR created_at < $2::timestamptz
