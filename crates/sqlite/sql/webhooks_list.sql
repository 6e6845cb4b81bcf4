SELECT webhooks.schema_id, schemas.name, schemas.latest_version, schemas.active, schema_versions.created_by, webhooks.name,
       webhooks.definition
FROM webhooks
JOIN schemas ON schemas.id = webhooks.schema_id AND schemas.deleted_at IS NULL
JOIN schema_versions ON schema_versions.schema_id = schemas.id AND schema_versions.version = schemas.latest_version
ORDER BY webhooks.schema_id, webhooks.name
