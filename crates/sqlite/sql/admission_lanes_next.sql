SELECT min(open_at) FROM admission_lanes INDEXED BY admission_lanes_by_opening
WHERE open_at IS NOT NULL AND open_at > ?1
