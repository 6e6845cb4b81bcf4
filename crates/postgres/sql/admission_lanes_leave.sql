UPDATE admission_lanes l SET waiting = l.waiting - x.left_it, turn = coalesce(x.turn, l.turn)
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS x (group_id, key, left_it, turn)
WHERE l.group_id = x.group_id AND l.key = x.key
