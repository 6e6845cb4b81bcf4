UPDATE plain_actions SET done_at = ?2 WHERE id = ?1
