INSERT INTO execution_snapshots (execution_id, seq, context) VALUES (?1, ?2, ?3)
ON CONFLICT (execution_id, seq) DO UPDATE SET context = excluded.context
