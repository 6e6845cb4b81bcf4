INSERT INTO schema_pins (schema_id, node_id, handle, output, bytes, updated_by, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (schema_id, node_id) DO UPDATE SET handle = ?3, output = ?4, bytes = ?5, updated_by = ?6, updated_at = ?7
