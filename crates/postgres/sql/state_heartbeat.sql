-- Rows that a commit has locked are left out by the lock, not waited for: that commit renews the lease itself.
WITH mine AS (
    SELECT s.execution_id
    FROM unnest($1::uuid[], $2::uuid[]) AS u (execution_id, token)
    JOIN execution_state s ON s.execution_id BETWEEN u.execution_id AND u.execution_id AND s.lease_token = u.token
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE execution_state s SET lease_until = greatest(s.lease_until, $3::timestamptz)
FROM mine
WHERE s.execution_id BETWEEN mine.execution_id AND mine.execution_id
RETURNING s.execution_id, s.lease_token, s.control IS NOT NULL, s.lease_until
