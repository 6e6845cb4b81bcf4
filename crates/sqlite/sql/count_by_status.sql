SELECT count(*) FROM executions e INDEXED BY executions_by_status
WHERE e.status <> 4 AND e.status = ?9
  AND (?2 = 0 OR (1 << e.status) & ?2 <> 0)
  AND (?3 IS NULL OR e.schema_id = ?3)
  AND (?4 IS NULL OR e.tenant = ?4)
  AND (?5 IS NULL OR e.created_at > ?5)
  AND (?6 IS NULL OR e.created_at < ?6)
  AND (NOT ?11 OR e.retried_as IS NULL)
  AND (?7 IS NULL
       OR instr(hex(e.id), ?8) > 0
       OR instr(lower(e.correlation_id), lower(?7)) > 0
       OR instr(lower(e.idempotency_key), lower(?7)) > 0
       OR instr(lower(e.created_by), lower(?7)) > 0
       OR instr(lower(e.labels), lower(?7)) > 0
       OR instr(lower(e.error), lower(?7)) > 0)
