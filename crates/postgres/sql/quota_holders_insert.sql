INSERT INTO quota_holders (quota, execution_id, since)
SELECT * FROM unnest($1::text[], $2::uuid[], $3::timestamptz[])
ON CONFLICT DO NOTHING
