SELECT output FROM execution_steps WHERE execution_id = ?1 AND node_type = ?2 AND status = ?3 ORDER BY seq LIMIT 1
