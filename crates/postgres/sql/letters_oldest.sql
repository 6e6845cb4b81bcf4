SELECT id, execution_id, reason, octet_length(replace(replace(message, U&'\+10FFFF0', ' '), U&'\+10FFFF1', 'four'))::bigint, created_at, requeued_at, requeued_as
FROM dead_letters
WHERE id > $1::bigint AND id <= $2::bigint AND ($3::text IS NULL OR strpos(lower(reason), lower($3)) > 0)
ORDER BY id
LIMIT $4::bigint
