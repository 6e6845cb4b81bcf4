DELETE FROM quota_holders WHERE quota = ?1 AND execution_id = ?2
