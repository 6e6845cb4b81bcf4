-- Schemas, their versions, and the workers that run them.

CREATE TABLE schemas (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    active INTEGER NOT NULL,
    latest_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT, WITHOUT ROWID;

-- The name of a deleted schema is free again.
CREATE UNIQUE INDEX schemas_by_name ON schemas (name) WHERE deleted_at IS NULL;

CREATE TABLE schema_versions (
    schema_id BLOB NOT NULL,
    version INTEGER NOT NULL,
    language INTEGER NOT NULL,
    hash TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (schema_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    node_types TEXT NOT NULL,
    slots INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
