CREATE TABLE IF NOT EXISTS pawl_applied (
    effect_key TEXT PRIMARY KEY,
    -- JSON in Pawl's own serialisation; filled in by the transaction that made the row.
    result TEXT,
    -- UTC microseconds.
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT, WITHOUT ROWID
