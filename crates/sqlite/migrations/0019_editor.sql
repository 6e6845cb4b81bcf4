-- What editors keep beside the versions of a schema.

-- Where a schema is drawn, as JSON. The revision counts the writes.
CREATE TABLE schema_layouts (
    schema_id BLOB NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    layout TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Outputs that trial runs use instead of running a node.
CREATE TABLE schema_pins (
    schema_id BLOB NOT NULL,
    node_id TEXT NOT NULL,
    handle TEXT,
    output TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    updated_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (schema_id, node_id)
) STRICT;
