UPDATE plain_actions SET done_at = $2::timestamptz WHERE id = ANY ($1::text[])
