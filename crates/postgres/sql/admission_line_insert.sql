INSERT INTO admission_line (group_id, key, execution_id)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::uuid[])
ON CONFLICT DO NOTHING
RETURNING group_id, key, execution_id
