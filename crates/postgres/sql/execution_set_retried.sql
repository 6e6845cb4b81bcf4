UPDATE executions SET retried_as = $2::uuid WHERE id = $1::uuid
