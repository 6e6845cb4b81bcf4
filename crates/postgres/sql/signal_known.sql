SELECT EXISTS (SELECT FROM signals WHERE execution_id = $1::uuid AND id = $2::text)
