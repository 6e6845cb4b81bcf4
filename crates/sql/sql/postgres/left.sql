-- What a session is like, as one text: the same after every use as when it was opened. All that a schema holds depends on
-- it, and pg_depend has an index for that. Statements that were prepared through the protocol are ours.
SELECT concat_ws(' ', current_user, session_user, current_setting('role'), current_setting('search_path'),
    current_setting('application_name'), current_setting('statement_timeout'), current_setting('lock_timeout'),
    current_setting('idle_in_transaction_session_timeout'), current_setting('default_transaction_isolation'),
    current_setting('default_transaction_read_only'), current_setting('synchronous_commit'),
    current_setting('standard_conforming_strings'), current_setting('session_replication_role'),
    current_setting('row_security'), current_setting('timezone'), current_setting('datestyle'), current_setting('work_mem'),
    (SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = pg_my_temp_schema()),
    (SELECT count(*) FROM pg_prepared_statements WHERE from_sql),
    (SELECT count(*) FROM pg_cursors),
    (SELECT count(*) FROM pg_listening_channels()))
