-- Those of a name that were attempted once, with success, and that no queue knows any more.
SELECT count(*)
FROM scheduled_actions a
WHERE starts_with(a.id, $1::text) AND a.finished_at IS NOT NULL
  AND a.status ->> 'begun' = '1' AND a.status ->> 'successful' = '1'
  AND NOT EXISTS (SELECT FROM processing_queue p WHERE p.action_id = a.id)
