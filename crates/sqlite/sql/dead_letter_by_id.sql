SELECT id, execution_id, reason, octet_length(message), created_at, requeued_at, requeued_as, message FROM dead_letters WHERE id = ?1
