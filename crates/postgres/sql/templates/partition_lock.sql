-- In the order in which attaching needs them.
LOCK TABLE ONLY {table} IN SHARE UPDATE EXCLUSIVE MODE;
LOCK TABLE {table}_default IN ACCESS EXCLUSIVE MODE
