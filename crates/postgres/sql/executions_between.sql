SELECT EXISTS (SELECT 1 FROM executions WHERE id >= $1::uuid AND id < $2::uuid)
