-- What people wrote on executions. Few executions have any, so they are not part of the history that is partitioned.
CREATE TABLE execution_notes (
    execution_id BLOB NOT NULL,
    id BLOB NOT NULL,
    text TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (execution_id, id)
) STRICT, WITHOUT ROWID;
