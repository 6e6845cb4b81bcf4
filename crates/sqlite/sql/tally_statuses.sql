-- Without a look at the rows.
SELECT count(*) FROM (
    SELECT 1 FROM executions INDEXED BY executions_by_status
    WHERE status <> 4 AND status = ?1
    ORDER BY id DESC
    LIMIT ?2
)
