INSERT INTO execution_steps (
    execution_id, seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error, attempts,
    started_at, finished_at, version, handle
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
