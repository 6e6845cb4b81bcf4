-- One scheduler at a time plans admissions. A second one has nothing to do.
SELECT pg_try_advisory_xact_lock(hashtext('pawl admission ' || current_schema()))
