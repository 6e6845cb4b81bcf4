SELECT webhooks.schema_id, schemas.name, coalesce(schemas.published_version, schemas.latest_version) AS version, schemas.active, webhooks.name, webhooks.definition
FROM webhooks
JOIN schemas ON schemas.id = webhooks.schema_id AND schemas.deleted_at IS NULL
WHERE webhooks.schema_id = ?1
ORDER BY webhooks.name
