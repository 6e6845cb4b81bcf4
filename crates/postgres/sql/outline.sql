SELECT seq, node_id, node_type, next_node_id, handle, status, started_at, finished_at,
       coalesce(json_array_length(attempts), 1)
FROM execution_steps
WHERE execution_id = $1::uuid AND seq > $2::bigint AND seq <= $3::bigint
ORDER BY seq
LIMIT $4::bigint
