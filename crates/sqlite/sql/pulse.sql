-- Letters that are open are counted up to a number that no person reads one by one.
SELECT (SELECT coalesce(max(id), 0) FROM dead_letters),
       (SELECT count(*) FROM (SELECT 1 FROM dead_letters WHERE requeued_at IS NULL LIMIT 1000)),
       (SELECT revision FROM schema_revision)
