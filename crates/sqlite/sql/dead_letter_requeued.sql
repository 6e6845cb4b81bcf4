UPDATE dead_letters SET requeued_at = ?3, requeued_as = ?2 WHERE id = ?1 AND requeued_at IS NULL
