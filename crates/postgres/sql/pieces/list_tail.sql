ORDER BY e.id DESC
LIMIT $24::bigint
