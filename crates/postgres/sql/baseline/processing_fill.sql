-- As if a worker had taken them in long ago.
INSERT INTO processing_queue (
    shard_id, scheduled_at, action_id, action_guid, added_to_incoming_queue_at,
    moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at, kind
)
SELECT shard_id, scheduled_at, action_id, guid, created_at, '00000000-0000-0000-0000-000000000000', created_at, kind
FROM unnest($1::integer[], $2::timestamptz[], $3::text[], $4::uuid[], $5::timestamptz[], $6::smallint[])
    AS filled (shard_id, created_at, action_id, guid, scheduled_at, kind)
