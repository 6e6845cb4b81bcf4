SELECT id, name, payload, consumed_seq, created_at FROM signals WHERE execution_id = $1::uuid ORDER BY inbox
