SELECT l.group_id, l.key, l.waiting, count(i.execution_id)
FROM admission_lanes l
LEFT JOIN admission_line i ON i.group_id = l.group_id AND i.key = l.key
GROUP BY l.group_id, l.key, l.waiting
