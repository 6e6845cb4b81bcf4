SELECT id, name, payload, consumed_seq, created_at, inbox
FROM signals
WHERE execution_id = ?1 AND inbox > ?2
ORDER BY inbox
LIMIT ?3
