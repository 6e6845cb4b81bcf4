UPDATE shard_locks SET last_heartbeat_at = ?2
WHERE locked = 1 AND last_lock_guid IN (SELECT unhex(value) FROM json_each(?1))
RETURNING shard_id, last_lock_guid
