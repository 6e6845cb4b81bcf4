INSERT INTO admission_lanes (group_id, key, turn, waiting, open_at)
SELECT x.group_id, x.key, (SELECT turn FROM admission_turn WHERE id = 1), x.waiting, x.open_at
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::timestamptz[]) AS x (group_id, key, waiting, open_at)
ORDER BY x.group_id, x.key COLLATE "C"
ON CONFLICT (group_id, key) DO UPDATE SET waiting = admission_lanes.waiting + excluded.waiting
