UPDATE execution_state s SET next_sweep_at = u.at, sweeps = s.sweeps + 1
FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS u (execution_id, version, at)
WHERE s.execution_id BETWEEN u.execution_id AND u.execution_id AND s.version = u.version
