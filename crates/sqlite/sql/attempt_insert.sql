INSERT INTO action_attempts (action_id, generation, ordinal, attempt, planned_at, started_at, finished_at, status, error)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (action_id, generation, ordinal) DO NOTHING
