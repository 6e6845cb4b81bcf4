INSERT INTO execution_logs (execution_id, number, seq, node_id, level, message, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
