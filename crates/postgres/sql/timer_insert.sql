INSERT INTO incoming_queue (shard_id, created_at, action_id, action_guid, scheduled_at, kind)
SELECT * FROM unnest($1::integer[], $2::timestamptz[], $3::text[], $4::uuid[], $5::timestamptz[], $6::smallint[])
ON CONFLICT (shard_id, action_id, action_guid)
DO UPDATE SET created_at = excluded.created_at, scheduled_at = excluded.scheduled_at, kind = excluded.kind
