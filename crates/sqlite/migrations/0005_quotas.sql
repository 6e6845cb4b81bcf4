-- Quotas, who holds a place in them, and who stands in line. Counters change in the transaction that admits or ends
-- an execution, so they survive any crash.

-- The quotas it counts against, as a JSON list; NULL for nearly all.
ALTER TABLE executions ADD COLUMN quotas TEXT;

CREATE TABLE quotas (
    -- `schema:order-check`, `tenant:acme`, `key:order-check/ACME`.
    name TEXT NOT NULL PRIMARY KEY,
    -- What an operator set: `config` or `api`, or NULL.
    source TEXT,
    max_running INTEGER,
    rate TEXT,
    -- What the settings of a schema ask for, and the version that asked last.
    settings_limit INTEGER,
    settings_version INTEGER NOT NULL,
    used INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    -- What the last admission left of the rate.
    next_at INTEGER,
    -- How the classes take turns.
    share_now INTEGER NOT NULL,
    share_high INTEGER NOT NULL,
    share_normal INTEGER NOT NULL,
    share_low INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX quotas_set ON quotas (name) WHERE source IS NOT NULL;

CREATE TABLE quota_holders (
    quota TEXT NOT NULL,
    execution_id BLOB NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (quota, execution_id)
) STRICT, WITHOUT ROWID;

-- Lanes with the same priority and the same schema and tenant quotas. Few, however many wait.
CREATE TABLE admission_groups (
    id INTEGER NOT NULL PRIMARY KEY,
    priority INTEGER NOT NULL,
    -- A JSON list of names, in order.
    quotas TEXT NOT NULL,
    UNIQUE (priority, quotas)
) STRICT;

-- Executions that differ in age only.
CREATE TABLE admission_lanes (
    group_id INTEGER NOT NULL,
    -- The quota of their concurrency key, or ''.
    key TEXT NOT NULL,
    turn INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    -- From when on the key has room; NULL: not before somebody ends.
    open_at INTEGER,
    PRIMARY KEY (group_id, key)
) STRICT, WITHOUT ROWID;

-- The scheduler reads open lanes in turn, and never those whose key is full.
CREATE INDEX admission_lanes_open ON admission_lanes (group_id, turn, key) WHERE open_at IS NOT NULL;
CREATE INDEX admission_lanes_by_key ON admission_lanes (key) WHERE key <> '';
CREATE INDEX admission_lanes_by_opening ON admission_lanes (open_at) WHERE open_at IS NOT NULL;

CREATE TABLE admission_line (
    group_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    execution_id BLOB NOT NULL,
    PRIMARY KEY (group_id, key, execution_id)
) STRICT, WITHOUT ROWID;

-- Counts admissions: the turn of the last one.
CREATE TABLE admission_turn (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    turn INTEGER NOT NULL
) STRICT;

INSERT INTO admission_turn (id, turn) VALUES (1, 0);
