DELETE FROM execution_snapshots WHERE execution_id = ?1
