UPDATE shard_locks SET locked = 0 WHERE locked = 1 AND last_lock_guid = ?1
