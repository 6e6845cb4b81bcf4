e.id < $1::uuid AND e.id >= $22::uuid AND e.id <= $23::uuid
  AND ($2::smallint[] IS NULL OR e.status = ANY ($2))
  AND ($3::uuid IS NULL OR e.schema_id = $3)
  AND ($4::text IS NULL OR e.tenant = $4)
  AND ($5::timestamptz IS NULL OR e.created_at > $5)
  AND ($6::timestamptz IS NULL OR e.created_at < $6)
  AND ($12::text IS NULL OR e.created_by = $12)
  AND ($13::integer IS NULL OR e.schema_version = $13)
  AND ($16::uuid IS NULL OR e.retry_of = $16)
  AND ($17::uuid IS NULL OR e.forked_from = $17)
  AND ($18::timestamptz IS NULL OR e.finished_at >= $18)
  AND ($19::bigint IS NULL
       OR coalesce(e.finished_at, $20::timestamptz) - coalesce(e.started_at, e.created_at)
          > $19 * interval '1 microsecond')
  AND ($21::uuid[] IS NULL OR e.id = ANY ($21))
  AND (NOT $9::boolean OR e.retried_as IS NULL)
  AND ($24::boolean IS NULL OR e.trial = $24)
  AND ($14::text IS NULL
       OR EXISTS (SELECT 1 FROM execution_state s WHERE s.execution_id = e.id AND s.current_node_id = $14))
  AND ($10::text IS NULL OR e.labels ->> $10 = $11::text)
  AND ($15::text IS NULL OR e.error ->> 'code' = $15)
  AND ($7::text IS NULL
       OR strpos(replace(e.id::text, '-', ''), $8::text) > 0
       OR strpos(lower(e.correlation_id), lower($7)) > 0
       OR strpos(lower(e.idempotency_key), lower($7)) > 0
       OR strpos(lower(e.created_by), lower($7)) > 0
       OR strpos(lower(e.labels::text), lower($7)) > 0
       OR strpos(lower(e.error::text), lower($7)) > 0)
