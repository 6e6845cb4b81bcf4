SELECT id, guid, meta, spec, status FROM scheduled_actions WHERE id = $1::text FOR UPDATE
