INSERT INTO executions (
    id, tenant, labels, schema_id, schema_version, status, priority, debug_mode, created_by, correlation_id,
    idempotency_key, parent_id, parent_seq, child_index, retry_of, forked_from, base_seq, created_at, queued_at,
    started_at, finished_at, initial, output, error, quotas, trial
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
