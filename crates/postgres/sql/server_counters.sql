-- Statistics arrive with a delay of up to a second; the positions in the log are exact.
SELECT (SELECT xact_commit::double precision FROM pg_stat_database WHERE datname = current_database()),
       (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::double precision
