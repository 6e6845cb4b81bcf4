UPDATE admission_lanes SET turn = ?3 WHERE group_id = ?1 AND key = ?2
