-- Users: who saved a version, addresses of keys, numbers of schemas. Who wrote an action is in its `meta`.

-- `user` of executions that are started without a caller, as JSON; NULL in what was saved before.
ALTER TABLE schema_versions ADD COLUMN owner TEXT;

ALTER TABLE api_keys ADD COLUMN email TEXT;

-- The number under which other programs know a schema; that of a deleted schema is free again.
ALTER TABLE schemas ADD COLUMN external_id INTEGER;
CREATE UNIQUE INDEX schemas_by_external_id ON schemas (external_id) WHERE deleted_at IS NULL;
