INSERT INTO plain_actions (id, spec, due_at)
SELECT * FROM unnest($1::text[], $2::json[], $3::timestamptz[])
