SELECT node_id, handle, bytes, updated_by, updated_at FROM schema_pins WHERE schema_id = ?1 ORDER BY node_id
