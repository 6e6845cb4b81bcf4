-- Versions keep the text that their author wrote, and a note on what changed. NULL in what was saved before.
ALTER TABLE schema_versions ADD COLUMN source text;
ALTER TABLE schema_versions ADD COLUMN source_format text;
ALTER TABLE schema_versions ADD COLUMN note text;

-- What starts without a version and triggers use; NULL: the latest version, also where an earlier release of Pawl saves it.
ALTER TABLE schemas ADD COLUMN published_version integer;
