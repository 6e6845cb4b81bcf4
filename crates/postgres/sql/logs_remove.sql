WITH gone AS (DELETE FROM execution_logs WHERE execution_id = ANY ($1::uuid[]) RETURNING 1) SELECT count(*) FROM gone
