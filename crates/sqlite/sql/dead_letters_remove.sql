DELETE FROM dead_letters WHERE execution_id = ?1
