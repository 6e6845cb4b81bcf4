-- Of these, the actions that nobody has locked. What is read afterwards, by another statement, is then the newest.
SELECT a.id
FROM unnest($1::text[]) AS wanted (id)
JOIN scheduled_actions a ON a.id BETWEEN wanted.id AND wanted.id
ORDER BY a.id
FOR UPDATE OF a SKIP LOCKED
