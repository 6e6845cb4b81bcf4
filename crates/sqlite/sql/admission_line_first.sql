SELECT execution_id FROM admission_line WHERE group_id = ?1 AND key = ?2 ORDER BY execution_id LIMIT ?3
