-- What lanes say of how many wait in them, and how many do. NULL: there is no such lane, yet executions wait in it.
SELECT l.group_id, l.key, l.waiting, (
    SELECT count(*) FROM admission_line i WHERE i.group_id = l.group_id AND i.key = l.key
)
FROM admission_lanes l
UNION ALL
SELECT i.group_id, i.key, NULL, count(*)
FROM admission_line i
WHERE NOT EXISTS (SELECT 1 FROM admission_lanes l WHERE l.group_id = i.group_id AND l.key = i.key)
GROUP BY i.group_id, i.key
