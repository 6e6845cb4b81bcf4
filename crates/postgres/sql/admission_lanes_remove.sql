DELETE FROM admission_lanes l
USING unnest($1::bigint[], $2::text[]) AS x (group_id, key)
WHERE l.group_id = x.group_id AND l.key = x.key AND l.waiting <= 0
