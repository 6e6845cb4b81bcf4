SELECT g.id, g.priority, g.quotas
FROM admission_groups g
WHERE EXISTS (SELECT 1 FROM admission_lanes l WHERE l.group_id = g.id)
