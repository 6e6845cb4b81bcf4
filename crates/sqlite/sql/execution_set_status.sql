UPDATE executions
SET status = coalesce(?2, status), started_at = coalesce(?3, started_at), queued_at = coalesce(?4, queued_at)
WHERE id = ?1
