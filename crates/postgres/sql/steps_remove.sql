WITH gone AS (DELETE FROM execution_steps WHERE execution_id = ANY ($1::uuid[]) RETURNING 1) SELECT count(*) FROM gone
