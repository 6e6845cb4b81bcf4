SELECT name, source, max_running, rate, settings_limit, settings_version, used, waiting, next_at, share_now, share_high,
       share_normal, share_low, updated_at
FROM quotas
WHERE name > $1::text AND source IS NOT NULL
ORDER BY name
LIMIT $2::bigint
