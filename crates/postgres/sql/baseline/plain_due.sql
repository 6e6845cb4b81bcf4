SELECT id, spec, due_at
FROM plain_actions
WHERE done_at IS NULL AND due_at <= $1::timestamptz
ORDER BY due_at
LIMIT 500
FOR UPDATE SKIP LOCKED
