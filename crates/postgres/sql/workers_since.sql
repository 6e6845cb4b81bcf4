SELECT id, roles, node_types, slots, busy, doing, version, started_at, heartbeat_at
FROM workers
WHERE heartbeat_at >= $1::timestamptz
ORDER BY id
