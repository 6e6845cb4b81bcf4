SELECT x.group_id, x.key, i.execution_id
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS x (group_id, key, many)
CROSS JOIN LATERAL (
    SELECT execution_id
    FROM admission_line
    WHERE group_id = x.group_id AND key = x.key
    ORDER BY execution_id
    LIMIT x.many
) i
ORDER BY i.execution_id
