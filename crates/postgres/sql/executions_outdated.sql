-- One page of a schema's executions, each with whether it may go. A parent that is still open may want its children.
SELECT e.id,
       e.finished_at IS NOT NULL
       AND e.finished_at < CASE WHEN e.idempotency_key IS NULL THEN $4::timestamptz ELSE $5::timestamptz END
       AND NOT EXISTS (SELECT 1 FROM executions p WHERE p.id = e.parent_id AND p.finished_at IS NULL)
FROM executions e
WHERE e.schema_id = $1::uuid AND e.id > $2::uuid AND e.id < $3::uuid
ORDER BY e.id
LIMIT $6::bigint
