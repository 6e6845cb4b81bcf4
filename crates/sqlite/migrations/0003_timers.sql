-- Timers: writers append to incoming_queue, the owner of a shard moves rows to processing_queue and fires them.

CREATE TABLE scheduled_actions (
    id TEXT NOT NULL PRIMARY KEY,
    guid BLOB NOT NULL,
    meta TEXT,
    spec TEXT NOT NULL,
    status TEXT NOT NULL,
    scheduled_at INTEGER,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE action_attempts (
    action_id TEXT NOT NULL,
    action_guid BLOB NOT NULL,
    planned_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    status TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (action_id, action_guid, planned_at, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE incoming_queue (
    shard_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    action_id TEXT NOT NULL,
    action_guid BLOB NOT NULL,
    scheduled_at INTEGER NOT NULL,
    PRIMARY KEY (shard_id, action_id, action_guid)
) STRICT, WITHOUT ROWID;

CREATE TABLE processing_queue (
    shard_id INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    action_id TEXT NOT NULL,
    action_guid BLOB NOT NULL,
    added_to_incoming_queue_at INTEGER NOT NULL,
    moved_from_incoming_to_processing_queue_by_sync_with_guid BLOB NOT NULL,
    moved_from_incoming_to_processing_queue_at INTEGER NOT NULL,
    last_reschedule_by_sync_with_guid BLOB,
    last_reschedule_at INTEGER,
    PRIMARY KEY (shard_id, scheduled_at, action_id, action_guid)
) STRICT, WITHOUT ROWID;

CREATE TABLE shard_locks (
    shard_id INTEGER NOT NULL PRIMARY KEY,
    locked INTEGER NOT NULL,
    last_lock_guid BLOB,
    last_locked_by TEXT,
    last_processing_start_at INTEGER,
    last_heartbeat_at INTEGER
) STRICT;
