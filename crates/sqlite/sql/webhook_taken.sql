-- Who else takes requests of this shape? `ANY` takes those of every method.
SELECT schemas.name
FROM webhooks
JOIN schemas ON schemas.id = webhooks.schema_id
WHERE webhooks.shape = ?2 AND webhooks.schema_id <> ?1 AND (webhooks.method IN (?3, 'ANY') OR ?3 = 'ANY')
LIMIT 1
