-- An execution with a lease is running: a command leaves the status alone while there is one.
SELECT e.id, e.schema_id, e.schema_version
FROM executions e
JOIN execution_state s ON s.execution_id = e.id
WHERE e.status <> 4 AND e.status = $1::smallint AND s.lease_until <= $2::timestamptz
ORDER BY e.id
LIMIT $3::bigint
