-- Unless it was removed and set again meanwhile.
UPDATE quotas SET uncounted = NULL WHERE name = $1::text AND uncounted = $2::bigint
