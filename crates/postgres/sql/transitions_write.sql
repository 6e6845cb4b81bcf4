-- Writes what the lifecycle decided for many executions. A row that is no longer as it was when that was decided is left
-- alone, with everything that belongs to it; the others are returned.
--
-- `BETWEEN x AND x` is an equality that the planner cannot hash or merge: rows are looked up one by one along the
-- key, in the order of the ids given, so that two batches lock in the same order and no plan ever scans the table.
-- The commit's random id is compared too: after a failover that lost commits, another history may have come to the same
-- version.
-- A heartbeat may have extended the lease since; a commit does not shorten it.
WITH done AS (
    UPDATE execution_state s SET
        seq = u.seq, current_node_id = u.current_node_id, prev_node_id = u.prev_node_id, entered_at = u.entered_at,
        attempt = u.attempt, attempts = u.attempts, effect_key = u.effect_key, not_before = u.not_before,
        wait_kind = u.wait_kind, wait_id = u.wait_id, wake_at = u.wake_at, wait_name = u.wait_name, hold = u.hold,
        control = u.control, inbox = u.inbox, lease_owner = u.lease_owner, lease_token = u.lease_token,
        lease_until = CASE WHEN u.lease_until IS NULL THEN NULL ELSE greatest(s.lease_until, u.lease_until) END,
        commit_id = u.commit_id, recoveries = u.recoveries, interrupted = u.interrupted, debug = u.debug,
        deadline_at = u.deadline_at, next_sweep_at = u.next_sweep_at, calls_spent = u.calls_spent,
        bytes_spent = u.bytes_spent, version = u.version, updated_at = u.updated_at, last_error = u.last_error, sweeps = 0,
        log_lines = s.log_lines + u.lines
    FROM unnest(
        $1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::timestamptz[], $6::integer[], $7::json[], $8::text[],
        $9::timestamptz[], $10::smallint[], $11::uuid[], $12::timestamptz[], $13::text[], $14::smallint[],
        $15::smallint[], $16::bigint[], $17::text[], $18::uuid[], $19::timestamptz[], $20::uuid[], $21::integer[],
        $22::boolean[], $23::text[], $24::timestamptz[], $25::timestamptz[], $26::bigint[], $27::bigint[],
        $28::bigint[], $29::timestamptz[], $30::json[], $31::bigint[], $32::uuid[], $33::bigint[],
        $34::uuid[]
    ) AS u (
        execution_id, seq, current_node_id, prev_node_id, entered_at, attempt, attempts, effect_key, not_before,
        wait_kind, wait_id, wake_at, wait_name, hold, control, inbox, lease_owner, lease_token, lease_until,
        commit_id, recoveries, interrupted, debug, deadline_at, next_sweep_at, calls_spent, bytes_spent, version,
        updated_at, last_error, old_version, old_token, lines, old_commit_id
    )
    WHERE s.execution_id BETWEEN u.execution_id AND u.execution_id
      AND s.version = u.old_version
      AND s.lease_token IS NOT DISTINCT FROM u.old_token
      AND s.commit_id IS NOT DISTINCT FROM u.old_commit_id
    RETURNING s.execution_id, s.log_lines - u.lines AS lines_before
), changed AS (
    UPDATE executions e SET
        status = coalesce(x.status, e.status), output = coalesce(x.output, e.output), error = coalesce(x.error, e.error),
        finished_at = coalesce(x.finished_at, e.finished_at), started_at = coalesce(x.started_at, e.started_at)
    FROM unnest(
        $35::uuid[], $36::smallint[], $37::json[], $38::json[], $39::timestamptz[], $40::timestamptz[]
    ) AS x (id, status, output, error, finished_at, started_at)
    JOIN done ON done.execution_id = x.id
    WHERE e.id BETWEEN x.id AND x.id
), stepped AS (
    INSERT INTO execution_steps (
        execution_id, seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error,
        attempts, started_at, finished_at, version, handle
    )
    SELECT
        t.execution_id, t.seq, t.node_id, t.node_type, t.prev_node_id, t.next_node_id, t.input, t.output, t.changes,
        t.status, t.error, t.attempts, t.started_at, t.finished_at, t.version, t.handle
    FROM unnest(
        $41::uuid[], $42::bigint[], $43::text[], $44::text[], $45::text[], $46::text[], $47::json[], $48::json[],
        $49::json[], $50::smallint[], $51::json[], $52::json[], $53::timestamptz[], $54::timestamptz[],
        $55::bigint[], $56::text[]
    ) AS t (
        execution_id, seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error,
        attempts, started_at, finished_at, version, handle
    )
    JOIN done ON done.execution_id = t.execution_id
), logged AS (
    INSERT INTO execution_logs (execution_id, number, seq, node_id, level, message, created_at)
    SELECT l.execution_id,
           l.line + done.lines_before, l.seq, l.node_id, l.level, l.message, l.created_at
    FROM unnest(
        $57::uuid[], $58::bigint[], $59::bigint[], $60::text[], $61::text[], $62::text[], $63::timestamptz[]
    ) AS l (execution_id, line, seq, node_id, level, message, created_at)
    JOIN done ON done.execution_id = l.execution_id
), waiting AS (
    INSERT INTO incoming_queue (shard_id, created_at, action_id, action_guid, scheduled_at, kind)
    SELECT q.shard_id, q.created_at, q.action_id, q.action_guid, q.scheduled_at, q.kind
    FROM unnest(
        $64::integer[], $65::timestamptz[], $66::text[], $67::uuid[], $68::timestamptz[], $69::smallint[], $70::uuid[]
    ) AS q (shard_id, created_at, action_id, action_guid, scheduled_at, kind, execution_id)
    JOIN done ON done.execution_id = q.execution_id
    ON CONFLICT (shard_id, action_id, action_guid)
    DO UPDATE SET created_at = excluded.created_at, scheduled_at = excluded.scheduled_at, kind = excluded.kind
)
SELECT execution_id FROM done
