-- As admission_lanes_all, of some groups, and perhaps of one key.
SELECT group_id, key, l.waiting, coalesce(i.waiting, 0)
FROM (
    SELECT group_id, key, waiting
    FROM admission_lanes
    WHERE group_id = ANY ($1::bigint[]) AND ($2::text IS NULL OR key = $2::text)
) l
FULL JOIN (
    SELECT group_id, key, count(*) AS waiting
    FROM admission_line
    WHERE group_id = ANY ($1::bigint[]) AND ($2::text IS NULL OR key = $2::text)
    GROUP BY group_id, key
) i USING (group_id, key)
