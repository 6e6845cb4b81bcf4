-- An action that is written anew meanwhile is not finished any more, and stays.
WITH gone AS (
    DELETE FROM scheduled_actions
    WHERE id = ANY ($1::text[]) AND finished_at < $2::timestamptz
    RETURNING id
), attempts AS (
    DELETE FROM action_attempts WHERE action_id IN (SELECT id FROM gone) RETURNING 1
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM attempts)
