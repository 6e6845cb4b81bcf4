-- Only in the transaction that claimed, under the role that claimed.
UPDATE pawl_applied SET result = $2
WHERE effect_key = $1 AND txid_current()::text || ' ' || current_user = $3
