-- Only what is there is moved, or taken away where there is no time, and returned. No lock is waited for: another
-- transaction that has a row locked is dealing with it.
WITH picked AS (
    SELECT p.shard_id, p.scheduled_at, p.action_id, p.action_guid, due.until
    FROM unnest($1::integer[], $2::timestamptz[], $3::text[], $4::uuid[], $5::timestamptz[])
        AS due (shard_id, scheduled_at, action_id, guid, until)
    JOIN processing_queue p
        ON p.shard_id = due.shard_id AND p.scheduled_at = due.scheduled_at
        AND p.action_id = due.action_id AND p.action_guid = due.guid
    FOR UPDATE OF p SKIP LOCKED
), gone AS (
    DELETE FROM processing_queue p
    USING picked
    WHERE p.shard_id = picked.shard_id AND p.scheduled_at = picked.scheduled_at
      AND p.action_id = picked.action_id AND p.action_guid = picked.action_guid
    RETURNING p.*, picked.until
), back AS (
    INSERT INTO processing_queue (
        shard_id, scheduled_at, action_id, action_guid, added_to_incoming_queue_at,
        moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at,
        last_reschedule_by_sync_with_guid, last_reschedule_at, kind
    )
    SELECT shard_id, until, action_id, action_guid, added_to_incoming_queue_at,
        moved_from_incoming_to_processing_queue_by_sync_with_guid, moved_from_incoming_to_processing_queue_at,
        $6::uuid, $7::timestamptz, kind
    FROM gone
    WHERE until IS NOT NULL
    ON CONFLICT (shard_id, scheduled_at, action_id, action_guid) DO NOTHING
)
SELECT action_id, action_guid FROM gone
