SELECT g.id, l.key, l.turn, l.waiting
FROM unnest($1::bigint[], $2::bigint[]) AS g (id, most)
CROSS JOIN LATERAL (
    SELECT key, turn, waiting
    FROM admission_lanes
    WHERE group_id = g.id AND open_at IS NOT NULL AND open_at <= $3::timestamptz
    ORDER BY turn, key
    LIMIT g.most
) l
