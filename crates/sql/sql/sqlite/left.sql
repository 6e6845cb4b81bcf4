-- Whatever a transaction has left on its connection.
SELECT name FROM temp.sqlite_master LIMIT 1
