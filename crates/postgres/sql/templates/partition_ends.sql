SELECT
    (SELECT execution_id FROM {name} ORDER BY execution_id LIMIT 1),
    (SELECT execution_id FROM {name} ORDER BY execution_id DESC LIMIT 1)
