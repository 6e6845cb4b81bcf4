UPDATE executions
SET status = ?2, output = ?3, error = ?4, finished_at = ?5, started_at = coalesce(?6, started_at)
WHERE id = ?1
