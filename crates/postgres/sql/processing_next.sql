SELECT min(soonest.at)
FROM unnest($1::integer[]) AS mine (shard_id)
CROSS JOIN LATERAL (
    SELECT q.scheduled_at AS at FROM processing_queue q
    WHERE q.shard_id = mine.shard_id
    ORDER BY q.scheduled_at
    LIMIT 1
) soonest
