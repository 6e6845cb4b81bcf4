-- Only one process at a time changes partitions. A second one has nothing to do.
SELECT pg_try_advisory_xact_lock(hashtext('pawl partitions ' || $1::text))
