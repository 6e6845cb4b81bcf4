WITH mine AS (
    SELECT shard_id FROM shard_locks
    WHERE locked AND last_lock_guid = ANY ($1::uuid[]) AND ($3::integer[] IS NULL OR shard_id = ANY ($3))
    ORDER BY shard_id
    FOR NO KEY UPDATE
)
UPDATE shard_locks l SET locked = false, last_heartbeat_at = $2::timestamptz
FROM mine
WHERE l.shard_id = mine.shard_id
