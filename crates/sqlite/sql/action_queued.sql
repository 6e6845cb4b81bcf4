SELECT i.shard_id, iif(l.locked, l.last_locked_by, NULL), iif(l.locked, l.last_lock_guid, NULL), i.created_at,
       NULL, NULL, NULL, NULL
FROM scheduled_actions a
CROSS JOIN shard_locks l
CROSS JOIN incoming_queue i ON i.shard_id = l.shard_id AND i.action_id = a.id AND i.action_guid = a.guid
WHERE a.id = ?1
UNION ALL
-- Found by its time, without an index of its own.
SELECT p.shard_id, iif(l.locked, l.last_locked_by, NULL), iif(l.locked, l.last_lock_guid, NULL),
       p.added_to_incoming_queue_at,
       p.moved_from_incoming_to_processing_queue_at, p.moved_from_incoming_to_processing_queue_by_sync_with_guid,
       p.last_reschedule_at, p.last_reschedule_by_sync_with_guid
FROM scheduled_actions a
CROSS JOIN shard_locks l
CROSS JOIN processing_queue p
    ON p.shard_id = l.shard_id AND p.scheduled_at = a.scheduled_at AND p.action_id = a.id AND p.action_guid = a.guid
WHERE a.id = ?1
ORDER BY 1
