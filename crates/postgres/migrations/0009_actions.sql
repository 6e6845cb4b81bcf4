-- The history of scheduled actions, which nobody has written to before. The guid of an action changes with every write by
-- a user; what stays is its generation and the ordinal of an attempt in it.
DROP TABLE action_attempts;

CREATE TABLE action_attempts (
    action_id text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    ordinal bigint NOT NULL,
    attempt integer NOT NULL,
    planned_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    status text NOT NULL,
    error json,
    PRIMARY KEY (action_id, generation, ordinal)
);

-- For lists: a few open actions among many finished ones, and the other way round. There is none by scheduled_at: it
-- changes twice with every firing, and workers find what is due in the queues.
CREATE INDEX scheduled_actions_open ON scheduled_actions (id) WHERE finished_at IS NULL;
CREATE INDEX scheduled_actions_finished ON scheduled_actions (id, finished_at) WHERE finished_at IS NOT NULL;
-- For what goes when its time is over.
CREATE INDEX scheduled_actions_ended ON scheduled_actions (finished_at, id) WHERE finished_at IS NOT NULL;

-- Two changes per firing, neither of them of what is indexed: they find room in their page.
ALTER TABLE scheduled_actions SET (fillfactor = 60);
