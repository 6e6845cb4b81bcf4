-- As if a worker had taken them in long ago.
INSERT INTO processing_queue (
    shard_id, added_to_incoming_queue_at, action_id, action_guid, scheduled_at, kind,
    moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, zeroblob(16), ?2)
