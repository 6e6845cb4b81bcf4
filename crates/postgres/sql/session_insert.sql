INSERT INTO sessions (hash, key_hash, created_at, used_at)
VALUES ($1::bytea, $2::bytea, $3::timestamptz, $3::timestamptz)
