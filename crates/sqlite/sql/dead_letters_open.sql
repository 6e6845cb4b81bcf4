SELECT id, execution_id, reason, octet_length(message), created_at, requeued_at, requeued_as FROM dead_letters WHERE id > ?1 AND requeued_at IS NULL ORDER BY id LIMIT ?2
