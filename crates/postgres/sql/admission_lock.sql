-- One scheduler at a time plans admissions. Whoever comes second has nothing to do.
SELECT pg_try_advisory_xact_lock(hashtext('pawl admission ' || current_schema()))
