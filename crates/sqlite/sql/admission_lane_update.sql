UPDATE admission_lanes SET turn = ?3, waiting = ?4 WHERE group_id = ?1 AND key = ?2
