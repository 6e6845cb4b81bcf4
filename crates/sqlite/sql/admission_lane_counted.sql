INSERT INTO admission_lanes (group_id, key, turn, waiting, open_at)
VALUES (?1, ?2, (SELECT turn FROM admission_turn WHERE id = 1), ?3, 0)
ON CONFLICT (group_id, key) DO UPDATE SET waiting = ?3
