INSERT INTO dead_letters (execution_id, reason, message, created_at)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[])
RETURNING id
