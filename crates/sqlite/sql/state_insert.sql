INSERT INTO execution_state (
    execution_id, seq, current_node_id, prev_node_id, entered_at, attempt, attempts, effect_key, not_before, wait_kind,
    wait_id, wake_at, wait_name, hold, control, inbox, lease_owner, lease_token, lease_until, commit_id, recoveries,
    interrupted, debug, deadline_at, next_sweep_at, calls_spent, bytes_spent, version, updated_at, last_error
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
