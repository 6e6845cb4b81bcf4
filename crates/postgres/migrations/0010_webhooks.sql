-- Webhooks: which request starts which schema.

CREATE TABLE webhooks (
    schema_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    method text COLLATE "C" NOT NULL,
    path text NOT NULL,
    -- The path without the names of its parameters.
    shape text COLLATE "C" NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (schema_id, name)
);

CREATE UNIQUE INDEX webhooks_by_shape ON webhooks (shape, method);

-- Changes with every write, so that servers know when to read the table again. Whoever writes holds this row: two who
-- save at once cannot both find a path free.
CREATE TABLE webhook_revision (
    id integer NOT NULL PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);

INSERT INTO webhook_revision (id, revision) VALUES (1, 1);
