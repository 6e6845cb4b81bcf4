DELETE FROM executions AS e
WHERE e.id = ?1 AND e.id < ?2
  AND e.finished_at IS NOT NULL
  AND e.finished_at < CASE WHEN e.idempotency_key IS NULL THEN ?3 ELSE ?4 END
  AND NOT EXISTS (SELECT 1 FROM executions p WHERE p.id = e.parent_id AND p.finished_at IS NULL)
