ORDER BY e.id DESC
LIMIT $25::bigint
) looked GROUP BY 1, 2, 3
