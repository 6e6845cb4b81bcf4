-- Before another transaction gets the connection: nothing of the one before is left.
ROLLBACK;
RESET SESSION AUTHORIZATION;
RESET ALL;
CLOSE ALL;
UNLISTEN *;
SELECT pg_advisory_unlock_all();
DISCARD TEMP;
DISCARD SEQUENCES
