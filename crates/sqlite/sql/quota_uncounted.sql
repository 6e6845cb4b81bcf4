SELECT uncounted FROM quotas WHERE name = ?1 AND source IS NOT NULL AND uncounted IS NOT NULL
