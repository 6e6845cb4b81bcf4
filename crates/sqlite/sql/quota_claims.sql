-- What the youngest of those who count against a quota, or wait for it, say about it.
SELECT e.quotas
FROM executions e
WHERE e.id IN (
    SELECT h.execution_id FROM quota_holders h WHERE h.quota = ?1
    UNION ALL
    SELECT i.execution_id
    FROM admission_line i
    JOIN admission_groups g ON g.id = i.group_id
    WHERE i.key = ?1 OR EXISTS (SELECT 1 FROM json_each(g.quotas) n WHERE n.value = ?1)
)
ORDER BY e.id DESC
LIMIT 100
