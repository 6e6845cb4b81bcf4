INSERT INTO sessions (hash, key_hash, created_at, used_at) VALUES (?1, ?2, ?3, ?3)
