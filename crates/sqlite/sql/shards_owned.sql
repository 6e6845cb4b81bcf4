SELECT shard_id, last_lock_guid FROM shard_locks WHERE locked = 1 AND last_lock_guid IN (SELECT unhex(value) FROM json_each(?1))
