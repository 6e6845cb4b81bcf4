SELECT revision, layout, updated_by, updated_at FROM schema_layouts WHERE schema_id = $1::uuid
