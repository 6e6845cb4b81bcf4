SELECT count(*) FROM (
    SELECT 1 FROM admission_line WHERE group_id = ?1 AND key = ?2 AND execution_id < ?3 LIMIT ?4
)
