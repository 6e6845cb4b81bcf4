-- Of locks that no process has, and that other processes have.
SELECT count(*),
    min(CASE WHEN NOT locked THEN coalesce(last_heartbeat_at, 0) END),
    min(CASE WHEN locked AND last_lock_guid NOT IN (SELECT unhex(value) FROM json_each(?1)) THEN coalesce(last_heartbeat_at, 0) END),
    (
        SELECT count(*) FROM shard_locks
        WHERE locked AND last_lock_guid NOT IN (SELECT unhex(value) FROM json_each(?1))
        GROUP BY last_locked_by
        ORDER BY 1 DESC
        LIMIT 1
    ),
    (
        SELECT count(*) FROM workers
        WHERE heartbeat_at >= ?3 AND id <> ?2
          AND EXISTS (SELECT 1 FROM json_each(workers.roles) WHERE value = 'timers')
    )
FROM shard_locks
