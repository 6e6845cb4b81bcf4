-- For lists of what is due next. Workers do not need it: they find what is due in the queues. It is written to twice with
-- every firing, which is the price of a page that does not read every action there is.
CREATE INDEX scheduled_actions_due ON scheduled_actions (scheduled_at, id) WHERE finished_at IS NULL;

-- Changes with every write to a schema, so that open pages know when to read theirs again: times of two servers do not
-- always go forward.
CREATE TABLE schema_revision (
    id integer NOT NULL PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);

INSERT INTO schema_revision (id, revision) VALUES (1, 1);
