-- Rows for quotas that no operator has set, so that there is something to lock.
INSERT INTO quotas (
    name, settings_version, used, waiting, share_now, share_high, share_normal, share_low, updated_at
)
SELECT wanted.name, 0, 0, 0, 0, 0, 0, 0, $2::timestamptz
FROM unnest($1::text[]) AS wanted (name)
ORDER BY wanted.name COLLATE "C"
ON CONFLICT DO NOTHING
