FROM json_each(?23) wanted CROSS JOIN executions e
WHERE e.id = unhex(wanted.value) AND e.id < ?1 AND e.id >= ?25 AND e.id <= ?26
