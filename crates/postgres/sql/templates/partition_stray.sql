SELECT
    (
        SELECT execution_id FROM {table}_default
        WHERE execution_id >= '{from}' AND execution_id < '{to}'
        ORDER BY execution_id LIMIT 1
    ),
    (
        SELECT execution_id FROM {table}_default
        WHERE execution_id >= '{from}' AND execution_id < '{to}'
        ORDER BY execution_id OFFSET {max} LIMIT 1
    )
