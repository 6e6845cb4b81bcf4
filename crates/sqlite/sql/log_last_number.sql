SELECT coalesce(max(number), 0) FROM execution_logs WHERE execution_id = ?1
