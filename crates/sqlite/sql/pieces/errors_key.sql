THEN e.error ->> '$.code' END AS code,
    e.schema_id,
    (SELECT s.current_node_id FROM execution_state s WHERE s.execution_id = e.id) AS node,
    e.retried_as IS NULL AS is_open,
    e.id
