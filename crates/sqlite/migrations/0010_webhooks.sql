-- Webhooks: which request starts which schema.

CREATE TABLE webhooks (
    schema_id BLOB NOT NULL,
    name TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    -- The path without the names of its parameters.
    shape TEXT NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (schema_id, name)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX webhooks_by_shape ON webhooks (shape, method);

-- Changes with every write, so that servers know when to read the table again.
CREATE TABLE webhook_revision (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;

INSERT INTO webhook_revision (id, revision) VALUES (1, 1);
