SELECT seq, context FROM execution_snapshots WHERE execution_id = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1
