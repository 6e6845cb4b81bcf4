-- The plain design: one table, polled. It gets the same room in its pages and the same cleaning as the tables of Pawl.
DROP TABLE IF EXISTS plain_actions;
CREATE TABLE plain_actions (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    spec json NOT NULL,
    due_at timestamptz NOT NULL,
    done_at timestamptz
) WITH (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX plain_actions_due ON plain_actions (due_at) WHERE done_at IS NULL;
