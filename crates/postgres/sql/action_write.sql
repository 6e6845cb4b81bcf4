-- Nothing is returned if the row is not the one that was decided on: another transaction has just made it.
INSERT INTO scheduled_actions (id, guid, meta, spec, status, scheduled_at, finished_at)
VALUES ($1::text, $2::uuid, $3::json, $4::json, $5::json, $6::timestamptz, $7::timestamptz)
ON CONFLICT (id) DO UPDATE
SET guid = excluded.guid, meta = excluded.meta, spec = excluded.spec, status = excluded.status,
    scheduled_at = excluded.scheduled_at, finished_at = excluded.finished_at
WHERE scheduled_actions.guid = $8::uuid
RETURNING id
