-- Only in the transaction that claimed, under the role and the settings that claimed. The times, in milliseconds, are set
-- after the claim.
UPDATE pawl_applied SET result = $2
WHERE effect_key = $1
    AND concat_ws(' ', txid_current(), current_user, session_user, current_setting('standard_conforming_strings'),
        current_setting('synchronous_commit'), current_setting('transaction_isolation'), current_setting('search_path')) = $3
    AND current_setting('statement_timeout')::interval = $4::text::interval
    AND current_setting('lock_timeout')::interval = $5::text::interval
