UPDATE execution_state SET lease_until = max(lease_until, ?3)
WHERE execution_id = ?1 AND lease_token = ?2
RETURNING control IS NOT NULL, lease_until
