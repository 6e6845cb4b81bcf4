UPDATE execution_state s SET version = s.version + 1
FROM unnest($1::uuid[]) AS x (id)
WHERE s.execution_id BETWEEN x.id AND x.id
