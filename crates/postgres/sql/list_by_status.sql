-- Along the small index, which knows every status but completed.
SELECT e.id FROM executions e
WHERE e.status <> 4 AND e.id < $1::uuid
  AND ($2::bigint = 0 OR (1::bigint << e.status) & $2 <> 0)
  AND ($3::uuid IS NULL OR e.schema_id = $3)
  AND ($4::text IS NULL OR e.tenant = $4)
  AND ($5::timestamptz IS NULL OR e.created_at > $5)
  AND ($6::timestamptz IS NULL OR e.created_at < $6)
  AND (NOT $10::boolean OR e.retried_as IS NULL)
  AND ($7::text IS NULL
       OR strpos(replace(e.id::text, '-', ''), $8::text) > 0
       OR strpos(lower(e.correlation_id), lower($7)) > 0
       OR strpos(lower(e.idempotency_key), lower($7)) > 0
       OR strpos(lower(e.created_by), lower($7)) > 0
       OR strpos(lower(e.labels::text), lower($7)) > 0
       OR strpos(lower(e.error::text), lower($7)) > 0)
ORDER BY e.id DESC
LIMIT $9::bigint
