SELECT retried_as FROM executions WHERE id = ?1
