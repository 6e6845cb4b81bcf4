UPDATE shard_locks SET locked = false, last_heartbeat_at = $2::timestamptz
WHERE locked AND last_lock_guid = $1::uuid AND ($3::integer[] IS NULL OR shard_id = ANY ($3))
