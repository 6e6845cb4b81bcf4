-- Everything that is stored about the executions of $IDS, as one JSON value. Times are UTC microseconds.

WITH ids AS (SELECT unnest('{$IDS}'::uuid[]) AS id)
SELECT coalesce(json_agg(json_build_object(
    'id', e.id,
    'status', e.status,
    'key', e.idempotency_key,
    'correlation_id', e.correlation_id,
    'initial', e.initial,
    'output', e.output,
    'error', e.error,
    'state', row_to_json(s),
    'letters', (SELECT count(*) FROM pawl.dead_letters d WHERE d.execution_id = e.id),
    'steps', (
        SELECT coalesce(json_agg(json_build_object(
            'seq', t.seq, 'node_id', t.node_id, 'node_type', t.node_type, 'prev_node_id', t.prev_node_id,
            'next_node_id', t.next_node_id, 'output', t.output, 'changes', t.changes, 'status', t.status,
            'error', t.error, 'attempts', t.attempts,
            'started_at', (extract(epoch FROM t.started_at) * 1000000)::bigint,
            'finished_at', (extract(epoch FROM t.finished_at) * 1000000)::bigint
        ) ORDER BY t.seq), '[]') FROM pawl.execution_steps t WHERE t.execution_id = e.id
    ),
    'signals', (
        SELECT coalesce(json_agg(json_build_object(
            'id', g.id, 'payload', g.payload, 'consumed_seq', g.consumed_seq
        ) ORDER BY g.inbox), '[]') FROM pawl.signals g WHERE g.execution_id = e.id
    ),
    'snapshots', (
        SELECT coalesce(json_agg(json_build_object('seq', n.seq, 'context', n.context) ORDER BY n.seq), '[]')
        FROM pawl.execution_snapshots n WHERE n.execution_id = e.id
    ),
    'journal', (
        SELECT coalesce(json_agg(json_build_object(
            'at', (extract(epoch FROM j.at) * 1000000)::bigint, 'writer', j.writer, 'what', j.what,
            'before', j.before, 'after', j.after
        ) ORDER BY j.number), '[]') FROM chaos.journal j WHERE j.execution_id = e.id
    )
) ORDER BY e.id), '[]')
FROM ids JOIN pawl.executions e ON e.id = ids.id JOIN pawl.execution_state s ON s.execution_id = e.id
