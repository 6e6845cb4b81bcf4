-- In the order of their names, like every transaction does.
SELECT name, source, max_running, rate, settings_limit, settings_version, used, waiting, next_at, share_now, share_high,
       share_normal, share_low, updated_at
FROM quotas
WHERE name = ANY($1::text[])
ORDER BY name
FOR UPDATE
