SELECT shard_id FROM shard_locks WHERE locked = 1 AND last_lock_guid = ?1
