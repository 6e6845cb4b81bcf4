INSERT INTO quotas (
    name, source, max_running, rate, settings_limit, settings_version, used, waiting, next_at, share_now, share_high,
    share_normal, share_low, updated_at
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::timestamptz[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::timestamptz[]
)
ON CONFLICT (name) DO UPDATE SET
    source = excluded.source, max_running = excluded.max_running, rate = excluded.rate,
    settings_limit = excluded.settings_limit, settings_version = excluded.settings_version, used = excluded.used,
    waiting = excluded.waiting, next_at = excluded.next_at, share_now = excluded.share_now,
    share_high = excluded.share_high, share_normal = excluded.share_normal, share_low = excluded.share_low,
    updated_at = excluded.updated_at
