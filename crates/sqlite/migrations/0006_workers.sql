-- What workers say of themselves. Lists are JSON.

DROP TABLE workers;

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    roles TEXT NOT NULL,
    node_types TEXT NOT NULL,
    slots INTEGER NOT NULL,
    busy INTEGER NOT NULL,
    doing TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
