DELETE FROM processing_queue WHERE shard_id = ?1 AND scheduled_at = ?2 AND action_id = ?3 AND action_guid = ?4
