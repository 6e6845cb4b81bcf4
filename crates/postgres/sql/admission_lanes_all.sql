-- What lanes say of how many wait in them, and how many do. NULL: there is no such lane, yet executions wait in it.
SELECT group_id, key, l.waiting, coalesce(i.waiting, 0)
FROM admission_lanes l
FULL JOIN (
    SELECT group_id, key, count(*) AS waiting FROM admission_line GROUP BY group_id, key
) i USING (group_id, key)
