-- Without a look at the rows.
SELECT count(*) FROM (
    SELECT 1 FROM executions INDEXED BY executions_by_status
    WHERE status <> 4 AND status = ?1 AND (?3 IS NULL OR trial = ?3)
    ORDER BY id DESC
    LIMIT ?2
)
