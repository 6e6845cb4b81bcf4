-- Of these, the actions that no other transaction has locked. What is read afterwards, by another statement, is then
-- the newest. One look by key for each: as a join with an order the planner may walk the whole key of a large table.
SELECT a.id
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT s.id FROM scheduled_actions s WHERE s.id = wanted.id FOR UPDATE SKIP LOCKED) a
