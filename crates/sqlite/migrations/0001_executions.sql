-- Executions and what they did. Ids are 16 byte blobs, times UTC microseconds, statuses the codes of the kernel.
-- Execution ids are in time order, so every table keyed by one grows at its end.

CREATE TABLE executions (
    id BLOB NOT NULL PRIMARY KEY,
    tenant TEXT,
    labels TEXT,
    schema_id BLOB NOT NULL,
    schema_version INTEGER NOT NULL,
    status INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    debug_mode INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    idempotency_key TEXT,
    parent_id BLOB,
    parent_seq INTEGER,
    child_index INTEGER,
    retry_of BLOB,
    forked_from BLOB,
    base_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    queued_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    initial TEXT NOT NULL,
    output TEXT,
    error TEXT
) STRICT, WITHOUT ROWID;

-- Everything but what went well (4 = completed): reaper, sweeper and lists read open and failed executions here,
-- and the index stays small however long the history is. A statement must say `status <> 4` to use it.
CREATE INDEX executions_by_status ON executions (status, id) WHERE status <> 4;
CREATE INDEX executions_by_schema ON executions (schema_id, id);
CREATE UNIQUE INDEX executions_by_key ON executions (idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE execution_state (
    execution_id BLOB NOT NULL PRIMARY KEY,
    seq INTEGER NOT NULL,
    current_node_id TEXT NOT NULL,
    prev_node_id TEXT,
    entered_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    attempts TEXT,
    effect_key TEXT,
    not_before INTEGER,
    wait_kind INTEGER,
    wait_id BLOB,
    wake_at INTEGER,
    wait_name TEXT,
    hold INTEGER,
    control INTEGER,
    inbox INTEGER NOT NULL,
    lease_owner TEXT,
    lease_token BLOB,
    lease_until INTEGER,
    commit_id BLOB,
    recoveries INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    debug TEXT,
    deadline_at INTEGER NOT NULL,
    next_sweep_at INTEGER,
    calls_spent INTEGER NOT NULL,
    bytes_spent INTEGER NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Sweeps since the last change: how often the back-off has doubled.
    sweeps INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- As many entries as workers have leases. By status they cannot be found: a command may change the status of an
-- execution whose holder has vanished before the reaper comes.
CREATE INDEX execution_state_by_lease ON execution_state (lease_until) WHERE lease_until IS NOT NULL;

CREATE TABLE execution_snapshots (
    execution_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    context TEXT NOT NULL,
    PRIMARY KEY (execution_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE execution_steps (
    execution_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    node_type TEXT NOT NULL,
    prev_node_id TEXT,
    next_node_id TEXT,
    input TEXT,
    output TEXT,
    changes TEXT,
    status INTEGER NOT NULL,
    error TEXT,
    attempts TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    -- The version of the execution's state that the commit of this step made.
    version INTEGER NOT NULL,
    PRIMARY KEY (execution_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE execution_logs (
    execution_id BLOB NOT NULL,
    -- Counts the lines of one execution from 1.
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (execution_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE signals (
    execution_id BLOB NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    consumed_seq INTEGER,
    created_at INTEGER NOT NULL,
    -- The inbox count that the signal made: the order of arrival.
    inbox INTEGER NOT NULL,
    PRIMARY KEY (execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letters (
    id INTEGER NOT NULL PRIMARY KEY,
    execution_id BLOB,
    reason TEXT NOT NULL,
    -- The message as it came, if it could not be read.
    message TEXT,
    created_at INTEGER NOT NULL
) STRICT;
