DELETE FROM schema_pins WHERE schema_id = ?1
