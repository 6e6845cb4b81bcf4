-- Versions keep the text that their author wrote, and a note on what changed. NULL in what was saved before.
ALTER TABLE schema_versions ADD COLUMN source TEXT;
ALTER TABLE schema_versions ADD COLUMN source_format TEXT;
ALTER TABLE schema_versions ADD COLUMN note TEXT;

-- What starts without a version and triggers use; NULL: the latest version, also where an earlier release of Pawl saves it.
ALTER TABLE schemas ADD COLUMN published_version INTEGER;
