SELECT execution_id, sweeps FROM execution_state WHERE execution_id = ANY ($1::uuid[])
