-- Both rows of new executions. Those whose idempotency key is taken are left out; the others are returned. If what the
-- caller knows of quotas is old, nothing is created: the count of their changes is returned in any case.
WITH created AS (
    INSERT INTO executions (
        id, tenant, labels, schema_id, schema_version, status, priority, debug_mode, created_by, correlation_id,
        idempotency_key, parent_id, parent_seq, child_index, retry_of, forked_from, base_seq, created_at, queued_at,
        started_at, finished_at, initial, output, error, trial
    )
    SELECT * FROM unnest(
        $1::uuid[], $2::text[], $3::json[], $4::uuid[], $5::integer[], $6::smallint[], $7::smallint[],
        $8::boolean[], $9::text[], $10::text[], $11::text[], $12::uuid[], $13::bigint[], $14::bigint[],
        $15::uuid[], $16::uuid[], $17::bigint[], $18::timestamptz[], $19::timestamptz[], $20::timestamptz[],
        $21::timestamptz[], $22::json[], $23::json[], $24::json[], $25::boolean[]
    )
    WHERE $56::bigint = (SELECT epoch FROM quota_epoch)
    ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
), stated AS (
    INSERT INTO execution_state (
        execution_id, seq, current_node_id, prev_node_id, entered_at, attempt, attempts, effect_key, not_before,
        wait_kind, wait_id, wake_at, wait_name, hold, control, inbox, lease_owner, lease_token, lease_until,
        commit_id, recoveries, interrupted, debug, deadline_at, next_sweep_at, calls_spent, bytes_spent, version,
        updated_at, last_error
    )
    SELECT
        s.execution_id, s.seq, s.current_node_id, s.prev_node_id, s.entered_at, s.attempt, s.attempts, s.effect_key,
        s.not_before, s.wait_kind, s.wait_id, s.wake_at, s.wait_name, s.hold, s.control, s.inbox, s.lease_owner,
        s.lease_token, s.lease_until, s.commit_id, s.recoveries, s.interrupted, s.debug, s.deadline_at,
        s.next_sweep_at, s.calls_spent, s.bytes_spent, s.version, s.updated_at, s.last_error
    FROM unnest(
        $26::uuid[], $27::bigint[], $28::text[], $29::text[], $30::timestamptz[], $31::integer[], $32::json[],
        $33::text[], $34::timestamptz[], $35::smallint[], $36::uuid[], $37::timestamptz[], $38::text[],
        $39::smallint[], $40::smallint[], $41::bigint[], $42::text[], $43::uuid[], $44::timestamptz[], $45::uuid[],
        $46::integer[], $47::boolean[], $48::text[], $49::timestamptz[], $50::timestamptz[], $51::bigint[],
        $52::bigint[], $53::bigint[], $54::timestamptz[], $55::json[]
    ) AS s (
        execution_id, seq, current_node_id, prev_node_id, entered_at, attempt, attempts, effect_key, not_before,
        wait_kind, wait_id, wake_at, wait_name, hold, control, inbox, lease_owner, lease_token, lease_until,
        commit_id, recoveries, interrupted, debug, deadline_at, next_sweep_at, calls_spent, bytes_spent, version,
        updated_at, last_error
    )
    JOIN created c ON c.id = s.execution_id
)
SELECT c.id, q.epoch FROM quota_epoch q LEFT JOIN created c ON true
