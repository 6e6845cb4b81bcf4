-- Where a look at so many letters ends.
SELECT id
FROM dead_letters
WHERE id < $1::bigint
ORDER BY id DESC
LIMIT 1 OFFSET $2::bigint - 1
