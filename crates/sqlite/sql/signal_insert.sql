INSERT INTO signals (execution_id, id, name, payload, consumed_seq, created_at, inbox) VALUES (?, ?, ?, ?, ?, ?, ?)
