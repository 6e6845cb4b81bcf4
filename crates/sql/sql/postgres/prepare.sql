CREATE TABLE IF NOT EXISTS pawl_applied (
    effect_key text PRIMARY KEY,
    -- JSON in Pawl's own serialisation; filled in by the transaction that made the row.
    result text,
    created_at timestamptz NOT NULL DEFAULT now()
)
