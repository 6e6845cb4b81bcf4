-- The number of this transaction tells when all that began before it have ended.
UPDATE quota_epoch SET epoch = epoch + 1 RETURNING pg_current_xact_id()::text
