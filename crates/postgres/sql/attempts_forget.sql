DELETE FROM action_attempts a
USING unnest($1::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT h.generation, h.ordinal FROM action_attempts h
    WHERE h.action_id = wanted.id
    ORDER BY h.generation DESC, h.ordinal DESC
    LIMIT 1 OFFSET $2::bigint
) old
WHERE a.action_id = wanted.id AND (a.generation, a.ordinal) <= (old.generation, old.ordinal)
