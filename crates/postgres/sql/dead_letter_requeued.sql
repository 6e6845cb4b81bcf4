UPDATE dead_letters SET requeued_at = $3::timestamptz, requeued_as = $2::uuid
WHERE id = $1::bigint AND requeued_at IS NULL
RETURNING id
