INSERT INTO scheduled_actions (id, guid, meta, spec, status, scheduled_at)
SELECT * FROM unnest($1::text[], $2::uuid[], $3::json[], $4::json[], $5::json[], $6::timestamptz[])
