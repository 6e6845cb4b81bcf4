-- The plain design: one table, polled.
DROP TABLE IF EXISTS plain_actions;
CREATE TABLE plain_actions (
    id TEXT NOT NULL PRIMARY KEY,
    spec TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX plain_actions_due ON plain_actions (due_at) WHERE done_at IS NULL;
