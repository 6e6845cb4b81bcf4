UPDATE shard_locks SET last_heartbeat_at = ?2 WHERE locked = 1 AND last_lock_guid = ?1 RETURNING shard_id
