SELECT idempotency_key FROM executions WHERE idempotency_key = ANY($1::text[]) AND finished_at IS NULL
