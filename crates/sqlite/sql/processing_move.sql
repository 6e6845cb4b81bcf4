UPDATE OR REPLACE processing_queue
SET scheduled_at = ?5, last_reschedule_by_sync_with_guid = ?6, last_reschedule_at = ?7
WHERE shard_id = ?1 AND scheduled_at = ?2 AND action_id = ?3 AND action_guid = ?4
