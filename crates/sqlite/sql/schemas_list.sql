SELECT id, name, description, external_id, active, latest_version, coalesce(published_version, latest_version) AS published_version, created_at, updated_at
FROM schemas
WHERE deleted_at IS NULL
  AND (?1 IS NULL OR name > ?1)
  AND (?2 IS NULL OR instr(lower(name), lower(?2)) > 0 OR instr(lower(description), lower(?2)) > 0)
ORDER BY name
LIMIT ?3
