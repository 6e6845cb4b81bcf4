SELECT r.place, e.id, e.status, e.created_at, e.finished_at
FROM unnest($1::uuid[]) WITH ORDINALITY r (schema_id, place)
CROSS JOIN LATERAL (
    SELECT x.id, x.status, x.created_at, x.finished_at FROM executions x
    WHERE x.schema_id = r.schema_id AND NOT x.trial
    ORDER BY x.id DESC
    LIMIT $2::bigint
) e
ORDER BY r.place, e.id DESC
