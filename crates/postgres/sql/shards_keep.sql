UPDATE shard_locks SET last_heartbeat_at = $2::timestamptz
WHERE locked AND last_lock_guid = $1::uuid
RETURNING shard_id
