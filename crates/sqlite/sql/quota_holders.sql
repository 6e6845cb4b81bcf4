SELECT execution_id, since FROM quota_holders WHERE quota = ?1 ORDER BY since, execution_id LIMIT ?2
