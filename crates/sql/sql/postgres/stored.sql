SELECT result FROM pawl_applied WHERE effect_key = $1
