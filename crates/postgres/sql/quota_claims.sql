-- What the youngest of those who count against a quota, or wait for it, say about it.
SELECT e.quotas
FROM executions e
WHERE e.id IN (
    SELECT h.execution_id FROM quota_holders h WHERE h.quota = $1::text
    UNION ALL
    SELECT i.execution_id
    FROM admission_line i
    WHERE i.group_id = ANY ($2::bigint[]) AND ($3::text IS NULL OR i.key = $3::text)
)
ORDER BY e.id DESC
LIMIT 100
