-- Waits for another transaction with the same key. What it returns names this transaction, its role, and the settings
-- that the statements after it were checked under.
INSERT INTO pawl_applied (effect_key) VALUES ($1)
ON CONFLICT (effect_key) DO NOTHING
RETURNING concat_ws(' ', txid_current(), current_user, session_user, current_setting('standard_conforming_strings'),
    current_setting('synchronous_commit'), current_setting('transaction_isolation'), current_setting('search_path'))
