UPDATE schemas SET active = ?2, updated_at = ?3 WHERE id = ?1 AND deleted_at IS NULL
