UPDATE executions SET retried_as = ?2 WHERE id = ?1
