UPDATE admission_lanes SET open_at = ?2 WHERE key = ?1 AND key <> '' AND open_at IS NOT ?2
