-- Schemas, their versions, and the workers that run them.

CREATE TABLE schemas (
    id uuid NOT NULL PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    description text,
    active boolean NOT NULL,
    latest_version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);

-- The name of a deleted schema is free again.
CREATE UNIQUE INDEX schemas_by_name ON schemas (name) WHERE deleted_at IS NULL;

CREATE TABLE schema_versions (
    schema_id uuid NOT NULL,
    version integer NOT NULL,
    language integer NOT NULL,
    hash text NOT NULL,
    definition text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (schema_id, version)
);

CREATE TABLE workers (
    id text NOT NULL PRIMARY KEY,
    node_types text NOT NULL,
    slots integer NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
