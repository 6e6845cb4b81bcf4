-- API keys, and what became of dead letters.

CREATE TABLE api_keys (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- SHA-256 of the key, which itself is stored nowhere.
    hash BLOB NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (hash);
-- The name of a revoked key is free again.
CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL;

ALTER TABLE dead_letters ADD COLUMN requeued_at INTEGER;
-- The execution that goes on in its place.
ALTER TABLE dead_letters ADD COLUMN requeued_as BLOB;

-- What nobody has dealt with yet. A statement must say `requeued_at IS NULL` to use it.
CREATE INDEX dead_letters_open ON dead_letters (id) WHERE requeued_at IS NULL;
