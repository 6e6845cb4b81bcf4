SELECT a.id, a.guid, a.meta, a.spec, a.status
FROM unnest($1::text[]) AS wanted (id)
JOIN scheduled_actions a ON a.id BETWEEN wanted.id AND wanted.id
