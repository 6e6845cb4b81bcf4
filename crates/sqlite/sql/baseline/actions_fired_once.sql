-- Those of a name that were attempted once, with success, and that no queue knows any more.
SELECT count(*)
FROM scheduled_actions a
WHERE substr(a.id, 1, length(?1)) = ?1 AND a.finished_at IS NOT NULL
  AND json_extract(a.status, '$.begun') = 1 AND json_extract(a.status, '$.successful') = 1
  AND a.id NOT IN (SELECT action_id FROM processing_queue)
