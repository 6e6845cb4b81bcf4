UPDATE signals SET consumed_seq = u.seq
FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS u (execution_id, id, seq)
WHERE signals.execution_id = u.execution_id AND signals.id = u.id AND signals.consumed_seq IS NULL
RETURNING signals.execution_id, signals.id
