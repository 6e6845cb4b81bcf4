DELETE FROM quotas WHERE name = ANY($1::text[])
