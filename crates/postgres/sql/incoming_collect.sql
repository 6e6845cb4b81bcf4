-- Moves rows of the given shards, as far as they are locked under these guids. Writers only append: none waits.
WITH owned AS (
    SELECT shard_id FROM shard_locks
    WHERE locked AND last_lock_guid = ANY ($1::uuid[]) AND shard_id = ANY ($2::integer[])
    ORDER BY shard_id
    FOR SHARE
), taken AS (
    DELETE FROM incoming_queue i
    USING (
        SELECT q.shard_id, q.action_id, q.action_guid
        FROM owned
        CROSS JOIN LATERAL (
            SELECT * FROM incoming_queue WHERE incoming_queue.shard_id = owned.shard_id LIMIT $4::bigint
        ) q
        LIMIT $4
    ) picked
    WHERE i.shard_id = picked.shard_id AND i.action_id = picked.action_id AND i.action_guid = picked.action_guid
    RETURNING i.shard_id, i.created_at, i.action_id, i.action_guid, i.scheduled_at,
        CASE i.kind WHEN 0 THEN timer_kind(i.action_id, i.action_guid) ELSE i.kind END AS kind
), moved AS (
    INSERT INTO processing_queue (
        shard_id, scheduled_at, action_id, action_guid, added_to_incoming_queue_at,
        moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at, kind
    )
    SELECT shard_id, scheduled_at, action_id, action_guid, created_at, $5::uuid, $3::timestamptz, kind FROM taken
    ON CONFLICT (shard_id, scheduled_at, action_id, action_guid) DO UPDATE
    SET moved_from_incoming_to_processing_queue_by_sync_with_guid =
            excluded.moved_from_incoming_to_processing_queue_by_sync_with_guid,
        moved_from_incoming_to_processing_queue_at = excluded.moved_from_incoming_to_processing_queue_at,
        kind = excluded.kind
)
SELECT scheduled_at, shard_id, action_id, action_guid, kind FROM taken
