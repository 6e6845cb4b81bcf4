SELECT count(*) FROM (
SELECT 1
FROM dead_letters
WHERE requeued_at IS NULL AND id <= $1::bigint AND ($2::text IS NULL OR strpos(lower(reason), lower($2)) > 0)
LIMIT $3::bigint
) found
