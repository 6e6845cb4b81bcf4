SELECT id FROM executions WHERE idempotency_key = $1::text
