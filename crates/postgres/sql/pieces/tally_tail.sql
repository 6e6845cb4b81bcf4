ORDER BY e.id DESC
LIMIT $24::bigint
) looked GROUP BY 1
