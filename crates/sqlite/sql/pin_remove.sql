DELETE FROM schema_pins WHERE schema_id = ?1 AND node_id = ?2
