DELETE FROM quotas WHERE name = ?1
