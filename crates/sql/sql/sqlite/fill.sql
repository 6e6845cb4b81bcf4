UPDATE pawl_applied SET result = ?2 WHERE effect_key = ?1 AND result IS NULL
