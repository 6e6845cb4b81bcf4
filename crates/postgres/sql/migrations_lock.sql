SELECT pg_advisory_xact_lock(hashtext('pawl migrations ' || $1::text))
