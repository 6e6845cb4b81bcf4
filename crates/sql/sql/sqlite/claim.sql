INSERT INTO pawl_applied (effect_key) VALUES (?1) ON CONFLICT (effect_key) DO NOTHING
