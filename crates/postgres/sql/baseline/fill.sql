-- Finished executions with five steps of 200 bytes each, and queued ones, as a long history leaves them. Ids are in time
-- order, and older than anything the benchmark makes itself.
INSERT INTO executions (
    id, schema_id, schema_version, status, priority, debug_mode, created_by, correlation_id, base_seq, created_at,
    queued_at, started_at, finished_at, initial
)
SELECT bench_id(n), '{schema_id}', 1, CASE WHEN n <= {finished} THEN 4 ELSE 7 END, 2, false, 'bench', 'bench', 0,
       now(), now(), CASE WHEN n <= {finished} THEN now() END, CASE WHEN n <= {finished} THEN now() END, '{}'
FROM generate_series({from}, {to}) n;

INSERT INTO execution_state (
    execution_id, seq, current_node_id, entered_at, attempt, inbox, recoveries, interrupted, deadline_at, calls_spent,
    bytes_spent, version, updated_at, next_sweep_at
)
SELECT bench_id(n), CASE WHEN n <= {finished} THEN 5 ELSE 0 END, 'end', now(), 0, 0, 0, false, now() + interval '1 year',
       0, 0, 3, now(), now() + interval '1 day'
FROM generate_series({from}, {to}) n;

INSERT INTO execution_steps (
    execution_id, seq, node_id, node_type, output, status, started_at, finished_at, version
)
SELECT bench_id(n), s, 'node', 'transform', to_json(repeat('p', 200)), 1, now(), now(), 3
FROM generate_series({from}, least({to}, {finished})) n CROSS JOIN generate_series(1, 5) s;
