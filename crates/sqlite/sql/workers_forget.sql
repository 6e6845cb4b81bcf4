DELETE FROM workers WHERE heartbeat_at < ?1
