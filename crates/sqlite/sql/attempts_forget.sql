DELETE FROM action_attempts
WHERE action_id = ?1 AND (generation, ordinal) <= (
    SELECT generation, ordinal FROM action_attempts
    WHERE action_id = ?1
    ORDER BY generation DESC, ordinal DESC
    LIMIT 1 OFFSET ?2
)
