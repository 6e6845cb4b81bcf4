INSERT INTO shard_locks (shard_id, locked) VALUES (?1, 0) ON CONFLICT (shard_id) DO NOTHING
