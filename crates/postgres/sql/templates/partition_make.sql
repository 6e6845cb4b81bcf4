-- Not `PARTITION OF`, which would keep every other transaction from the whole table for as long as this takes.
CREATE TABLE {name} (LIKE {table} INCLUDING ALL)
