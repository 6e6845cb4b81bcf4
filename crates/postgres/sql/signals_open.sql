SELECT id, name, payload, consumed_seq, created_at
FROM signals
WHERE execution_id = $1::uuid AND consumed_seq IS NULL
ORDER BY inbox
