-- Steps that executions are created with.
INSERT INTO execution_steps (
    execution_id, seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error,
    attempts, started_at, finished_at, version, handle
)
SELECT * FROM unnest(
    $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::json[], $8::json[], $9::json[],
    $10::smallint[], $11::json[], $12::json[], $13::timestamptz[], $14::timestamptz[], $15::bigint[], $16::text[]
)
