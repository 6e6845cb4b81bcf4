-- The transactions that write executions just now. They took this lock before they looked which quotas are set.
SELECT virtualtransaction
FROM pg_locks
WHERE locktype = 'relation' AND relation = 'executions'::regclass AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid IS DISTINCT FROM pg_backend_pid()
