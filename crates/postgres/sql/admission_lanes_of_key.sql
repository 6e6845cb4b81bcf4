UPDATE admission_lanes l SET open_at = x.open_at
FROM unnest($1::text[], $2::timestamptz[]) AS x (key, open_at)
WHERE l.key = x.key AND l.key <> '' AND l.open_at IS DISTINCT FROM x.open_at
