UPDATE admission_lanes SET waiting = ?3 WHERE group_id = ?1 AND key = ?2
