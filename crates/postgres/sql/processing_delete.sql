-- Only under locks that are still ours, and only what is there: a row that another process has fired is not returned.
DELETE FROM processing_queue p
USING unnest($1::integer[], $2::timestamptz[], $3::text[], $4::uuid[]) AS due (shard_id, scheduled_at, action_id, guid)
WHERE p.shard_id = due.shard_id AND p.scheduled_at = due.scheduled_at
  AND p.action_id = due.action_id AND p.action_guid = due.guid
RETURNING p.action_id, p.action_guid
