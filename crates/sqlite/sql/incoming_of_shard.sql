SELECT created_at, action_id, action_guid, scheduled_at, kind
FROM incoming_queue
WHERE shard_id = ?1
ORDER BY action_id, action_guid
LIMIT ?2
