UPDATE schemas SET name = ?2, description = ?3, external_id = ?4, published_version = nullif(?5, latest_version), updated_at = ?6 WHERE id = ?1
