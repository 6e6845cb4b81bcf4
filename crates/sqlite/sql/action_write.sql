INSERT INTO scheduled_actions (id, guid, meta, spec, status, scheduled_at, finished_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE
SET guid = excluded.guid, meta = excluded.meta, spec = excluded.spec, status = excluded.status,
    scheduled_at = excluded.scheduled_at, finished_at = excluded.finished_at
