UPDATE execution_state SET next_sweep_at = ?3, sweeps = sweeps + 1 WHERE execution_id = ?1 AND version = ?2
