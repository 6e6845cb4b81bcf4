SELECT EXISTS (SELECT 1 FROM webhooks WHERE schema_id = ?1)
