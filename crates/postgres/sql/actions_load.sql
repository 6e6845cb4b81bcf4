SELECT a.id, a.guid, a.meta, a.spec, a.status
FROM unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT * FROM scheduled_actions s WHERE s.id = wanted.id LIMIT 1) a
