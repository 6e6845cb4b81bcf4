SELECT current_setting('server_version'), pg_database_size(current_database()), current_database()::text,
       current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'),
       pg_is_in_recovery()
