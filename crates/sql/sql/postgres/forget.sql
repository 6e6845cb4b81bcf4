DELETE FROM pawl_applied WHERE effect_key = ANY ($1::text[])
