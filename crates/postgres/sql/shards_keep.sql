-- One question for the heartbeat and for all that decides on the fair share. A transaction that waits for locks
-- takes them in order of shard: one that was stolen a moment ago is waited for too, and waits must not form a circle.
WITH mine AS (
    SELECT shard_id FROM shard_locks
    WHERE locked AND last_lock_guid = ANY ($1::uuid[])
    ORDER BY shard_id
    FOR NO KEY UPDATE
), kept AS (
    UPDATE shard_locks l SET last_heartbeat_at = $2::timestamptz
    FROM mine
    WHERE l.shard_id = mine.shard_id
    RETURNING l.shard_id, l.last_lock_guid
)
SELECT
    (SELECT coalesce(array_agg(shard_id ORDER BY shard_id), '{}') FROM kept),
    (SELECT coalesce(array_agg(last_lock_guid ORDER BY shard_id), '{}') FROM kept),
    count(*),
    min(coalesce(last_heartbeat_at, 'epoch')) FILTER (WHERE NOT locked),
    min(coalesce(last_heartbeat_at, 'epoch')) FILTER (WHERE locked AND last_lock_guid <> ALL ($1)),
    (
        SELECT count(*) FROM shard_locks
        WHERE locked AND last_lock_guid <> ALL ($1)
        GROUP BY last_locked_by
        ORDER BY 1 DESC
        LIMIT 1
    ),
    (
        SELECT count(*) FROM workers
        WHERE heartbeat_at >= $4::timestamptz AND id <> $3::text AND 'timers' = ANY (roles)
    )
FROM shard_locks
