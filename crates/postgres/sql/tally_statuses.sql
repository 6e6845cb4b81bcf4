-- Without a look at the rows.
SELECT w.status::text, (
    SELECT count(*) FROM (
        SELECT 1 FROM executions e
        WHERE e.status <> 4 AND e.status = w.status AND ($3::boolean IS NULL OR e.trial = $3)
        ORDER BY e.id DESC
        LIMIT $2::bigint
    ) found
)
FROM unnest($1::smallint[]) w (status)
