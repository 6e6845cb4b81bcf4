-- What editors keep beside the versions of a schema.

-- Where a schema is drawn, as JSON. The revision counts the writes.
CREATE TABLE schema_layouts (
    schema_id uuid NOT NULL PRIMARY KEY,
    revision bigint NOT NULL,
    layout text NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamptz NOT NULL
);

-- Outputs that trial runs use instead of running a node.
CREATE TABLE schema_pins (
    schema_id uuid NOT NULL,
    node_id text COLLATE "C" NOT NULL,
    handle text,
    output text NOT NULL,
    bytes bigint NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (schema_id, node_id)
);
