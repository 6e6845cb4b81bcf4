-- Of these, the states that no other transaction has locked. As a transaction of its own it keeps no lock either.
SELECT s.execution_id
FROM unnest($1::uuid[]) AS wanted (id)
JOIN execution_state s ON s.execution_id BETWEEN wanted.id AND wanted.id
FOR UPDATE OF s SKIP LOCKED
