SELECT name, source, max_running, rate, settings_limit, settings_version, used, waiting, next_at, share_now, share_high, share_normal,
       share_low, updated_at
FROM quotas INDEXED BY quotas_set
WHERE source IS NOT NULL AND name > ?1
ORDER BY name
LIMIT ?2
