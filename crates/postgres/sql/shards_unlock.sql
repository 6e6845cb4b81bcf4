UPDATE shard_locks SET locked = false WHERE locked AND last_lock_guid = $1::uuid
