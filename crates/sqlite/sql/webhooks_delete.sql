DELETE FROM webhooks WHERE schema_id = ?1
