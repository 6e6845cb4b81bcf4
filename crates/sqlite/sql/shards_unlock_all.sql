UPDATE shard_locks SET locked = 0 WHERE locked <> 0
