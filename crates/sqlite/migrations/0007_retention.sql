-- Letters go with the execution they are about. The number of one that is gone is not given to another.

CREATE TABLE numbered_letters (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    execution_id BLOB,
    reason TEXT NOT NULL,
    -- The message as it came, if it could not be read.
    message TEXT,
    created_at INTEGER NOT NULL,
    requeued_at INTEGER,
    -- The execution that goes on in its place.
    requeued_as BLOB
) STRICT;

INSERT INTO numbered_letters (id, execution_id, reason, message, created_at, requeued_at, requeued_as)
SELECT id, execution_id, reason, message, created_at, requeued_at, requeued_as FROM dead_letters;

DROP TABLE dead_letters;
ALTER TABLE numbered_letters RENAME TO dead_letters;

-- What nobody has dealt with yet. A statement must say `requeued_at IS NULL` to use it.
CREATE INDEX dead_letters_open ON dead_letters (id) WHERE requeued_at IS NULL;
CREATE INDEX dead_letters_by_execution ON dead_letters (execution_id) WHERE execution_id IS NOT NULL;
