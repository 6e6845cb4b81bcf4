-- Also of schemas that were deleted: their executions are still there.
SELECT id, coalesce(published_version, latest_version) AS version FROM schemas WHERE id > ?1 ORDER BY id LIMIT ?2
