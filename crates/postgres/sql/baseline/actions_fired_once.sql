-- Those of a name that were attempted once, with success, and that no queue knows any more.
SELECT count(*)
FROM scheduled_actions a
WHERE starts_with(a.id, $1::text) AND a.finished_at IS NOT NULL
  AND a.status ->> 'begun' = '1' AND a.status ->> 'successful' = '1'
  AND a.id NOT IN (SELECT action_id FROM processing_queue)
