(?2 = 0 OR (1 << e.status) & ?2 <> 0)
  AND (?3 IS NULL OR e.schema_id = ?3)
  AND (?4 IS NULL OR e.tenant = ?4)
  AND (?5 IS NULL OR e.created_at > ?5)
  AND (?6 IS NULL OR e.created_at < ?6)
  AND (?14 IS NULL OR e.created_by = ?14)
  AND (?15 IS NULL OR e.schema_version = ?15)
  AND (?18 IS NULL OR e.retry_of = ?18)
  AND (?19 IS NULL OR e.forked_from = ?19)
  AND (?20 IS NULL OR e.finished_at >= ?20)
  AND (?21 IS NULL OR coalesce(e.finished_at, ?22) - coalesce(e.started_at, e.created_at) > ?21)
  AND (NOT ?11 OR e.retried_as IS NULL)
  AND (?24 IS NULL OR e.trial = ?24)
  AND (?16 IS NULL
       OR EXISTS (SELECT 1 FROM execution_state s WHERE s.execution_id = e.id AND s.current_node_id = ?16))
  AND (?12 IS NULL
       OR EXISTS (SELECT 1 FROM json_each(e.labels) l
                  WHERE l.key = ?12 AND iif(l.type = 'text', l.value, e.labels -> l.fullkey) = ?13))
  AND (?17 IS NULL OR e.error ->> '$.code' = ?17)
  AND (?7 IS NULL
       OR instr(hex(e.id), ?8) > 0
       OR instr(lower(e.correlation_id), lower(?7)) > 0
       OR instr(lower(e.idempotency_key), lower(?7)) > 0
       OR instr(lower(e.created_by), lower(?7)) > 0
       OR instr(lower(e.labels), lower(?7)) > 0
       OR instr(lower(e.error), lower(?7)) > 0)
