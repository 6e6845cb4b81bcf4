INSERT INTO execution_snapshots (execution_id, seq, context)
SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::json[])
ON CONFLICT (execution_id, seq) DO UPDATE SET context = excluded.context
