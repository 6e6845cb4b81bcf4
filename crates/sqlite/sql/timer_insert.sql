INSERT OR REPLACE INTO incoming_queue (shard_id, created_at, action_id, action_guid, scheduled_at, kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
