UPDATE processing_queue p
SET scheduled_at = late.until, last_reschedule_by_sync_with_guid = $6::uuid, last_reschedule_at = $7::timestamptz
FROM unnest($1::integer[], $2::timestamptz[], $3::text[], $4::uuid[], $5::timestamptz[])
    AS late (shard_id, scheduled_at, action_id, guid, until)
WHERE p.shard_id = late.shard_id AND p.scheduled_at = late.scheduled_at
  AND p.action_id = late.action_id AND p.action_guid = late.guid
