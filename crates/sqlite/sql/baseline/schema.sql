PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS steps (
    id INTEGER PRIMARY KEY,
    execution_id BLOB NOT NULL,
    seq INTEGER NOT NULL,
    payload TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS steps_key ON steps (execution_id, seq);
CREATE TABLE IF NOT EXISTS state (
    execution_id BLOB PRIMARY KEY,
    version INTEGER NOT NULL,
    payload TEXT NOT NULL
);
