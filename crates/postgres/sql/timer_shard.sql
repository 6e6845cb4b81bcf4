SELECT i.shard_id
FROM shard_locks l
JOIN incoming_queue i ON i.shard_id = l.shard_id AND i.action_id = $3::text AND i.action_guid = $2::uuid
UNION ALL
-- The row of the current wait is found by its time, without an index of its own.
SELECT p.shard_id
FROM execution_state s
CROSS JOIN shard_locks l
JOIN processing_queue p
    ON p.shard_id = l.shard_id AND p.scheduled_at = s.wake_at AND p.action_id = $3 AND p.action_guid = $2
WHERE s.execution_id = $1::uuid AND s.wait_id = $2
UNION ALL
-- The row of a wait that is over has to be searched for: rare, and never urgent.
SELECT p.shard_id
FROM processing_queue p
WHERE p.action_id = $3 AND p.action_guid = $2
  AND NOT EXISTS (SELECT FROM execution_state WHERE execution_id = $1 AND wait_id = $2)
LIMIT 1
