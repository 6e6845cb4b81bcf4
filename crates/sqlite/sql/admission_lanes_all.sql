SELECT group_id, key, waiting FROM admission_lanes
