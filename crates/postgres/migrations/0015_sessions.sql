-- Sessions of people who logged in with an API key.

CREATE TABLE sessions (
    -- SHA-256 of what the cookie holds, which itself is stored nowhere.
    hash bytea NOT NULL PRIMARY KEY,
    -- That of the key. A session is good for as long as its key is.
    key_hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL
);
