ORDER BY e.id DESC
LIMIT $25::bigint
