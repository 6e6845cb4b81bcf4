UPDATE executions SET quotas = ?2 WHERE id = ?1
