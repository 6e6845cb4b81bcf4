SELECT e.id, e.tenant, e.labels, e.schema_id, e.schema_version, e.status, e.priority, e.debug_mode, e.created_by,
       e.correlation_id, e.idempotency_key, e.parent_id, e.parent_seq, e.child_index, e.retry_of, e.forked_from,
       e.base_seq, e.created_at, e.queued_at, e.started_at, e.finished_at, e.initial, e.output, e.error, e.quotas,
       e.retried_as, e.trial,
       s.execution_id, s.seq, s.current_node_id, s.prev_node_id, s.entered_at, s.attempt, s.attempts, s.effect_key,
       s.not_before, s.wait_kind, s.wait_id, s.wake_at, s.wait_name, s.hold, s.control, s.inbox, s.lease_owner,
       s.lease_token, s.lease_until, s.commit_id, s.recoveries, s.interrupted, s.debug, s.deadline_at,
       s.next_sweep_at, s.calls_spent, s.bytes_spent, s.version, s.updated_at, s.last_error
FROM unnest($1::uuid[]) AS wanted (id)
JOIN execution_state s ON s.execution_id BETWEEN wanted.id AND wanted.id
JOIN executions e ON e.id BETWEEN wanted.id AND wanted.id
