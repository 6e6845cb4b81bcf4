DELETE FROM sessions WHERE used_at < ?1 OR created_at < ?2
