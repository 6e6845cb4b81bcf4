SELECT sweeps FROM execution_state WHERE execution_id = ?1
