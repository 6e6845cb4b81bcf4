-- Of these leases, those that are still held: for rows that a heartbeat found locked.
SELECT s.execution_id, s.lease_token, s.control IS NOT NULL, s.lease_until
FROM unnest($1::uuid[], $2::uuid[]) AS u (execution_id, token)
JOIN execution_state s ON s.execution_id BETWEEN u.execution_id AND u.execution_id AND s.lease_token = u.token
