UPDATE executions e SET quotas = x.quotas
FROM unnest($1::uuid[], $2::json[]) AS x (id, quotas)
WHERE e.id BETWEEN x.id AND x.id
