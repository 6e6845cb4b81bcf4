UPDATE admission_lanes l SET waiting = x.waiting
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS x (group_id, key, waiting)
WHERE l.group_id = x.group_id AND l.key = x.key
