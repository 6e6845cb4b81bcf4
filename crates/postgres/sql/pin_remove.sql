DELETE FROM schema_pins WHERE schema_id = $1::uuid AND node_id = $2::text RETURNING 1
