-- Waits for another transaction with the same key. What it returns names this transaction and its role.
INSERT INTO pawl_applied (effect_key) VALUES ($1)
ON CONFLICT (effect_key) DO NOTHING
RETURNING txid_current()::text || ' ' || current_user
