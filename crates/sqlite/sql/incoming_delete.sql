DELETE FROM incoming_queue WHERE shard_id = ?1 AND action_id = ?2 AND action_guid = ?3
