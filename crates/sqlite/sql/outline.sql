SELECT seq, node_id, node_type, next_node_id, handle, status, started_at, finished_at,
       CASE WHEN json_valid(attempts) THEN json_array_length(attempts) ELSE 1 END
FROM execution_steps
WHERE execution_id = ?1 AND seq > ?2 AND seq <= ?3
ORDER BY seq
LIMIT ?4
