SELECT effect_key FROM pawl_applied
WHERE effect_key > ?1 AND created_at <= CAST((unixepoch('subsec') - ?2) * 1000000 AS INTEGER)
ORDER BY effect_key LIMIT 500
