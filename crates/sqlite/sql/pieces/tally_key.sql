THEN CASE ?27
    WHEN 1 THEN CAST(e.status AS TEXT)
    WHEN 2 THEN (SELECT s.current_node_id FROM execution_state s WHERE s.execution_id = e.id)
    ELSE lower(hex(e.schema_id))
END END AS key
