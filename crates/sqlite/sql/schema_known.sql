SELECT 1 FROM schemas WHERE id = ?1 AND deleted_at IS NULL
