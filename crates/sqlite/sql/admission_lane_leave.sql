UPDATE admission_lanes SET waiting = waiting - 1 WHERE group_id = ?1 AND key = ?2 RETURNING waiting
