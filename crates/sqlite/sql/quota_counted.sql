-- Unless it was removed and set again meanwhile.
UPDATE quotas SET uncounted = NULL WHERE name = ?1 AND uncounted = ?2
