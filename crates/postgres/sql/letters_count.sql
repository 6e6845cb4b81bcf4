SELECT count(*) FROM (
SELECT 1 FROM dead_letters
WHERE id > $1::bigint
  AND (NOT $2::boolean OR requeued_at IS NULL)
  AND ($3::text IS NULL OR strpos(lower(reason), lower($3)) > 0)
  AND ($4::bigint[] IS NULL OR id = ANY ($4))
LIMIT $5::bigint
) found
