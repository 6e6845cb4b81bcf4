WITH moved AS (
    DELETE FROM {table}_default WHERE execution_id >= '{from}' AND execution_id < '{to}' RETURNING *
)
INSERT INTO {name} SELECT * FROM moved
