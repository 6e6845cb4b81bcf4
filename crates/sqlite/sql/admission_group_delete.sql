DELETE FROM admission_groups
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM admission_lanes WHERE group_id = ?1)
