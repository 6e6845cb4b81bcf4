-- Locks the states, in id order so that two batches cannot wait for each other. What is read afterwards, by another
-- statement, is then the newest of both rows: a joined row that is not locked itself would be as old as the wait.
SELECT s.execution_id
FROM unnest($1::uuid[]) AS wanted (id)
JOIN execution_state s ON s.execution_id BETWEEN wanted.id AND wanted.id
ORDER BY s.execution_id
FOR UPDATE OF s
