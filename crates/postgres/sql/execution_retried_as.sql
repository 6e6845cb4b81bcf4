-- Locked: of two retries at the same moment the second one sees the first.
SELECT retried_as FROM executions WHERE id = $1::uuid FOR NO KEY UPDATE
