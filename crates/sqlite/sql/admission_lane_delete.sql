DELETE FROM admission_lanes WHERE group_id = ?1 AND key = ?2
