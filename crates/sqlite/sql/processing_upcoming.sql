SELECT scheduled_at, shard_id, action_id, action_guid, kind
FROM processing_queue
WHERE shard_id = ?1 AND scheduled_at >= ?2 AND scheduled_at < ?3
ORDER BY scheduled_at, action_id, action_guid
LIMIT ?4
