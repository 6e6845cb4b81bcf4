INSERT OR REPLACE INTO workers (id, roles, node_types, slots, busy, doing, version, started_at, heartbeat_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
