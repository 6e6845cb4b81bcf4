-- Those that may still go, and what belongs to them and is not partitioned. Returns whom, and how many rows went.
WITH gone AS (
    DELETE FROM executions e
    WHERE e.id = ANY ($1::uuid[]) AND e.id < $2::uuid
      AND e.finished_at IS NOT NULL
      AND e.finished_at < CASE WHEN e.idempotency_key IS NULL THEN $3::timestamptz ELSE $4::timestamptz END
      AND NOT EXISTS (SELECT 1 FROM executions p WHERE p.id = e.parent_id AND p.finished_at IS NULL)
    RETURNING e.id
), state AS (
    DELETE FROM execution_state s USING gone WHERE s.execution_id = gone.id
), signalled AS (
    DELETE FROM signals s USING gone WHERE s.execution_id = gone.id RETURNING 1
), noted AS (
    DELETE FROM execution_notes n USING gone WHERE n.execution_id = gone.id
), lettered AS (
    DELETE FROM dead_letters l USING gone WHERE l.execution_id = gone.id RETURNING 1
)
SELECT
    coalesce((SELECT array_agg(id) FROM gone), '{}'),
    (SELECT count(*) FROM signalled),
    (SELECT count(*) FROM lettered)
