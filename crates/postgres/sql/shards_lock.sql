UPDATE shard_locks
SET locked = true, last_lock_guid = $1::uuid, last_locked_by = $2::text, last_processing_start_at = $3::timestamptz,
    last_heartbeat_at = $3
WHERE shard_id IN (
    SELECT shard_id FROM shard_locks
    WHERE last_heartbeat_at IS NULL
       OR CASE
           WHEN locked THEN last_heartbeat_at < $4::timestamptz
           ELSE $6::timestamptz IS NULL OR last_heartbeat_at <= $6
       END
    ORDER BY last_processing_start_at NULLS FIRST, shard_id
    LIMIT $5::bigint
    FOR UPDATE SKIP LOCKED
)
RETURNING shard_id
