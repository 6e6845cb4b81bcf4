INSERT INTO quota_holders (quota, execution_id, since) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
