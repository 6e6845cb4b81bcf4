SELECT hash, source, source_format FROM schema_versions WHERE schema_id = ?1 AND version = ?2
