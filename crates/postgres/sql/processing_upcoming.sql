SELECT p.scheduled_at, p.shard_id, p.action_id, p.action_guid,
       CASE p.kind WHEN 0 THEN timer_kind(p.action_id, p.action_guid) ELSE p.kind END
FROM unnest($1::integer[]) AS mine (shard_id)
CROSS JOIN LATERAL (
    SELECT * FROM processing_queue q
    WHERE q.shard_id = mine.shard_id AND q.scheduled_at >= $2::timestamptz AND q.scheduled_at < $3::timestamptz
    ORDER BY q.scheduled_at, q.action_id, q.action_guid
    LIMIT $4::bigint
) p
ORDER BY p.scheduled_at, p.shard_id, p.action_id, p.action_guid
LIMIT $4
