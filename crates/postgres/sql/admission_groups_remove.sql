-- Those of keys alone stay: there are three of them, and no lock that every transaction on them holds.
DELETE FROM admission_groups g
WHERE g.id = ANY($1::bigint[]) AND g.quotas <> '[]'
  AND NOT EXISTS (SELECT 1 FROM admission_lanes l WHERE l.group_id = g.id)
