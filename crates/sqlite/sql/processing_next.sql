SELECT min(scheduled_at) FROM processing_queue WHERE shard_id = ?1
