UPDATE execution_state
SET seq = ?2, current_node_id = ?3, prev_node_id = ?4, entered_at = ?5, attempt = ?6, attempts = ?7, effect_key = ?8,
    not_before = ?9, wait_kind = ?10, wait_id = ?11, wake_at = ?12, wait_name = ?13, hold = ?14, control = ?15,
    inbox = ?16, lease_owner = ?17, lease_token = ?18, lease_until = ?19, commit_id = ?20, recoveries = ?21,
    interrupted = ?22, debug = ?23, deadline_at = ?24, next_sweep_at = ?25, calls_spent = ?26, bytes_spent = ?27,
    version = ?28, updated_at = ?29, last_error = ?30, sweeps = 0
WHERE execution_id = ?1 AND version = ?31
