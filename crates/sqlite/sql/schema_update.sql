UPDATE schemas SET name = ?2, description = ?3, external_id = ?6, latest_version = ?4, updated_at = ?5 WHERE id = ?1
