ORDER BY e.id DESC
LIMIT $25::bigint
) found
ORDER BY found.id DESC
LIMIT $25
