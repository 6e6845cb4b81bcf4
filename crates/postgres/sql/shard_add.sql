INSERT INTO shard_locks (shard_id, locked) SELECT n, false FROM generate_series(0, $1::integer - 1) n ON CONFLICT (shard_id) DO NOTHING
