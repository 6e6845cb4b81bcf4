-- Where a look at so many letters ends.
SELECT id
FROM dead_letters
WHERE id > ?1
ORDER BY id
LIMIT 1 OFFSET ?2 - 1
