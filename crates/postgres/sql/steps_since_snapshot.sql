-- What the newest snapshot does not contain yet.
SELECT seq, node_id, node_type, prev_node_id, next_node_id, input, output, changes, status, error, attempts,
       started_at, finished_at, version, handle
FROM execution_steps
WHERE execution_id = $1::uuid AND seq <= $2::bigint
  AND seq > coalesce(
      (SELECT max(n.seq) FROM execution_snapshots n WHERE n.execution_id = $1::uuid AND n.seq <= $2::bigint), 0
  )
ORDER BY seq
