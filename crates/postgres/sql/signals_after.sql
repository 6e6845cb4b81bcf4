SELECT id, name, payload, consumed_seq, created_at, inbox
FROM signals
WHERE execution_id = $1::uuid AND inbox > $2::bigint
ORDER BY inbox
LIMIT $3::bigint
