-- A quota that was just set does not count yet who was there before it. The change that set it, until all of them count;
-- so whoever sets it again, or starts with it in the configuration, knows whether there is something left to do.
ALTER TABLE quotas ADD COLUMN uncounted bigint;

-- Nobody remembers how it went with these.
UPDATE quotas SET uncounted = 0 WHERE source IS NOT NULL;
