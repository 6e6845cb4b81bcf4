UPDATE executions e SET queued_at = x.queued_at
FROM unnest($1::uuid[], $2::timestamptz[]) AS x (id, queued_at)
WHERE e.id BETWEEN x.id AND x.id
