-- Quotas, who holds a place in them, and who stands in line. Counters change in the transaction that admits or ends
-- an execution, so they survive any crash. Whoever changes a lane or a group holds the locks of all its quotas, taken in
-- the order of their names after those of the executions; so nothing here can be waited for in a circle.

-- The quotas it counts against; NULL for nearly all.
ALTER TABLE executions ADD COLUMN quotas json;

CREATE TABLE quotas (
    -- `schema:order-check`, `tenant:acme`, `key:order-check/ACME`.
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    -- What an operator set: `config` or `api`, or NULL.
    source text,
    max_running bigint,
    rate text,
    -- What the settings of a schema ask for, and the version that asked last.
    settings_limit bigint,
    settings_version bigint NOT NULL,
    used bigint NOT NULL,
    waiting bigint NOT NULL,
    -- What the last admission left of the rate.
    next_at timestamptz,
    -- How the classes take turns.
    share_now bigint NOT NULL,
    share_high bigint NOT NULL,
    share_normal bigint NOT NULL,
    share_low bigint NOT NULL,
    updated_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX quotas_set ON quotas (name) WHERE source IS NOT NULL;

CREATE TABLE quota_holders (
    quota text COLLATE "C" NOT NULL,
    execution_id uuid NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (quota, execution_id)
);

-- Lanes with the same priority and the same schema and tenant quotas. Few, however many wait.
CREATE TABLE admission_groups (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    priority smallint NOT NULL,
    -- A JSON list of names, in order.
    quotas text COLLATE "C" NOT NULL,
    UNIQUE (priority, quotas)
);

-- Executions that differ in age only.
CREATE TABLE admission_lanes (
    group_id bigint NOT NULL,
    -- The quota of their concurrency key, or ''.
    key text COLLATE "C" NOT NULL,
    turn bigint NOT NULL,
    waiting bigint NOT NULL,
    -- From when on the key has room; NULL: not before somebody ends.
    open_at timestamptz,
    PRIMARY KEY (group_id, key)
) WITH (fillfactor = 70);

-- The scheduler reads open lanes in turn, and never those whose key is full.
CREATE INDEX admission_lanes_open ON admission_lanes (group_id, turn, key) WHERE open_at IS NOT NULL;
CREATE INDEX admission_lanes_by_key ON admission_lanes (key) WHERE key <> '';
CREATE INDEX admission_lanes_by_opening ON admission_lanes (open_at) WHERE open_at IS NOT NULL;

CREATE TABLE admission_line (
    group_id bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    execution_id uuid NOT NULL,
    PRIMARY KEY (group_id, key, execution_id)
);

-- Counts admissions: the turn of the last one.
CREATE TABLE admission_turn (
    id smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    turn bigint NOT NULL
);

INSERT INTO admission_turn (id, turn) VALUES (1, 0);

-- Counts the changes of what operators have set. Whoever creates an execution says which count it knows; if that is
-- old, nothing is created, and it looks again.
CREATE TABLE quota_epoch (
    id smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    epoch bigint NOT NULL
);

INSERT INTO quota_epoch (id, epoch) VALUES (1, 0);
