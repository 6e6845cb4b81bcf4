SELECT count(*) FROM (
    SELECT 1
    FROM admission_line
    WHERE group_id = $1::bigint AND key = $2::text AND execution_id < $3::uuid
    LIMIT $4::bigint
) before
