SELECT output
FROM execution_steps
WHERE execution_id = $1::uuid AND node_type = $2::text AND status = $3::smallint
ORDER BY seq
LIMIT 1
