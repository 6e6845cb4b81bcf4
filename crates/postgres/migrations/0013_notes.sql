-- What people wrote on executions. Few executions have any, so they are not part of the history that is partitioned.
CREATE TABLE execution_notes (
    execution_id uuid NOT NULL,
    id uuid NOT NULL,
    text text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (execution_id, id)
);
