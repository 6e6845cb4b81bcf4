-- Where a look at so many letters ends.
SELECT id
FROM dead_letters INDEXED BY dead_letters_open
WHERE requeued_at IS NULL AND id < ?1
ORDER BY id DESC
LIMIT 1 OFFSET ?2 - 1
