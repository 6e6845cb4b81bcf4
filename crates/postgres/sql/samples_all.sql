SELECT r.place, e.id, e.status, e.created_at, e.finished_at
FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY r (first, last, place)
CROSS JOIN LATERAL (
    SELECT x.id, x.status, x.created_at, x.finished_at FROM executions x
    WHERE x.id >= r.first AND x.id < r.last AND NOT x.trial
    ORDER BY x.id
    LIMIT $3::bigint
) e
ORDER BY r.place, e.id
