SELECT node_id, handle, output, updated_by, updated_at FROM schema_pins WHERE schema_id = ?1 AND node_id = ?2
