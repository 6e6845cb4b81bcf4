WITH forgotten AS (
    DELETE FROM workers WHERE heartbeat_at < $10::timestamptz AND id <> $1::text
)
INSERT INTO workers (id, roles, node_types, slots, busy, doing, version, started_at, heartbeat_at)
VALUES (
    $1, $2::text[], $3::text[], $4::integer, $5::integer, $6::text[], $7::text, $8::timestamptz, $9::timestamptz
)
ON CONFLICT (id) DO UPDATE SET
    roles = excluded.roles, node_types = excluded.node_types, slots = excluded.slots, busy = excluded.busy,
    doing = excluded.doing, version = excluded.version, started_at = excluded.started_at,
    heartbeat_at = excluded.heartbeat_at
