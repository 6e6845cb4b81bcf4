SELECT execution_id FROM execution_state WHERE lease_until IS NOT NULL LIMIT $1::bigint
