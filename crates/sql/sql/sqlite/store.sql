-- Tables of a Pawl store: a program that can write to a file can write to all of it.
SELECT name FROM main.sqlite_master WHERE type = 'table' AND name IN ('api_keys', 'execution_state')
    AND 2 = (SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name IN ('api_keys', 'execution_state'))
