-- In id order, so that two batches cannot wait for each other.
SELECT a.id
FROM unnest($1::text[]) AS wanted (id)
JOIN scheduled_actions a ON a.id BETWEEN wanted.id AND wanted.id
ORDER BY a.id
FOR UPDATE OF a
