SELECT generation, ordinal, attempt, planned_at, started_at, finished_at, status, error
FROM action_attempts
WHERE action_id = ?1 AND (generation, ordinal) < (?2, ?3)
ORDER BY generation DESC, ordinal DESC
LIMIT ?4
