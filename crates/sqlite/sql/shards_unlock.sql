UPDATE shard_locks SET locked = 0, last_heartbeat_at = ?2
WHERE locked = 1 AND last_lock_guid IN (SELECT unhex(value) FROM json_each(?1))
    AND (?3 IS NULL OR shard_id IN (SELECT value FROM json_each(?3)))
