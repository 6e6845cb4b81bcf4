ORDER BY e.id DESC
LIMIT $24::bigint
) found
ORDER BY found.id DESC
LIMIT $24
