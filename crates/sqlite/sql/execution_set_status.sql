UPDATE executions SET status = coalesce(?2, status), started_at = coalesce(?3, started_at) WHERE id = ?1
