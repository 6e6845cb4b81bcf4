SELECT effect_key FROM pawl_applied
WHERE effect_key > $1 AND created_at < now() - $2::text::interval
ORDER BY effect_key LIMIT 500
