UPDATE scheduled_actions a
SET guid = changed.guid, status = changed.status, scheduled_at = changed.scheduled_at, finished_at = changed.finished_at
FROM unnest($1::text[], $2::uuid[], $3::json[], $4::timestamptz[], $5::timestamptz[])
    AS changed (id, guid, status, scheduled_at, finished_at)
WHERE a.id BETWEEN changed.id AND changed.id
