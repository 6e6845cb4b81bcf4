-- In the order given, which is that of the ids, so that two batches cannot wait for each other.
SELECT a.id
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT s.id FROM scheduled_actions s WHERE s.id = wanted.id FOR UPDATE) a
