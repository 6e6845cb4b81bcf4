-- A quota that was just set does not count yet who was there before it. A number of the setting, until all of them
-- count; so whoever sets it again, or starts with it in the configuration, knows whether there is something left to do.
ALTER TABLE quotas ADD COLUMN uncounted INTEGER;

-- Nobody remembers how it went with these.
UPDATE quotas SET uncounted = 0 WHERE source IS NOT NULL;
