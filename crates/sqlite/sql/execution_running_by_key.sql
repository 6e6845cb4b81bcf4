SELECT EXISTS (SELECT 1 FROM executions WHERE idempotency_key = ?1 AND finished_at IS NULL)
