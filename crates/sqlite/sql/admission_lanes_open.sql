SELECT key, turn, waiting FROM admission_lanes INDEXED BY admission_lanes_open
WHERE group_id = ?1 AND open_at IS NOT NULL AND open_at <= ?2
ORDER BY turn, key
LIMIT ?3
