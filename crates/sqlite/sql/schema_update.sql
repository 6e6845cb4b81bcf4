-- A draft until it is published.
UPDATE schemas SET published_version = coalesce(published_version, latest_version), latest_version = ?2, updated_at = ?3 WHERE id = ?1
