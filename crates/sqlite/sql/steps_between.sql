SELECT seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error, attempts, started_at,
       finished_at, version, handle
FROM execution_steps
WHERE execution_id = ?1 AND seq > ?2 AND seq <= ?3
ORDER BY seq
LIMIT ?4
