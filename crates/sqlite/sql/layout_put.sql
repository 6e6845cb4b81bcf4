INSERT INTO schema_layouts (schema_id, revision, layout, updated_by, updated_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (schema_id) DO UPDATE SET revision = ?2, layout = ?3, updated_by = ?4, updated_at = ?5
