-- Timers: writers append to incoming_queue, the owner of a shard moves rows to processing_queue and fires them.

CREATE TABLE scheduled_actions (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    guid uuid NOT NULL,
    meta json,
    spec json NOT NULL,
    status json NOT NULL,
    scheduled_at timestamptz,
    finished_at timestamptz
);

CREATE TABLE action_attempts (
    action_id text COLLATE "C" NOT NULL,
    action_guid uuid NOT NULL,
    planned_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    status text NOT NULL,
    error json,
    PRIMARY KEY (action_id, action_guid, planned_at, attempt)
);

-- Both queues are emptied as fast as they are filled: dead rows must go at once.
CREATE TABLE incoming_queue (
    shard_id integer NOT NULL,
    created_at timestamptz NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    action_guid uuid NOT NULL,
    scheduled_at timestamptz NOT NULL,
    PRIMARY KEY (shard_id, action_id, action_guid)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE processing_queue (
    shard_id integer NOT NULL,
    scheduled_at timestamptz NOT NULL,
    action_id text COLLATE "C" NOT NULL,
    action_guid uuid NOT NULL,
    added_to_incoming_queue_at timestamptz NOT NULL,
    moved_from_incoming_to_processing_queue_by_sync_with_guid uuid NOT NULL,
    moved_from_incoming_to_processing_queue_at timestamptz NOT NULL,
    last_reschedule_by_sync_with_guid uuid,
    last_reschedule_at timestamptz,
    PRIMARY KEY (shard_id, scheduled_at, action_id, action_guid)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE shard_locks (
    shard_id integer NOT NULL PRIMARY KEY,
    locked boolean NOT NULL,
    last_lock_guid uuid,
    last_locked_by text,
    last_processing_start_at timestamptz,
    last_heartbeat_at timestamptz
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
