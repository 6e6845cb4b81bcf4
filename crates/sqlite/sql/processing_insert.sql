INSERT OR REPLACE INTO processing_queue (
    shard_id, scheduled_at, action_id, action_guid, added_to_incoming_queue_at,
    moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at, kind
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
