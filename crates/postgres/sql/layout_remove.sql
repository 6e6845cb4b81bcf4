DELETE FROM schema_layouts WHERE schema_id = $1::uuid
