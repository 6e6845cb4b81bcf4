SELECT hash FROM schema_versions WHERE schema_id = ?1 AND version = ?2
