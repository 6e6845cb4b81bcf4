THEN CASE $26::bigint
    WHEN 1 THEN e.status::text
    WHEN 2 THEN (SELECT s.current_node_id FROM execution_state s WHERE s.execution_id = e.id)
    ELSE e.schema_id::text
END END AS key
