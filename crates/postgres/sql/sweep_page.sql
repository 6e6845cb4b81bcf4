-- One page of executions that could run, in id order, with what tells whether a message is due. How long one must have
-- been idle depends on its class, whose code counts from 1 like the array.
SELECT e.id,
       s.wait_kind IS NULL AND s.hold IS NULL AND s.control IS NULL
       AND s.updated_at <= ($4::timestamptz[])[e.priority]
       AND (s.lease_until IS NULL OR s.lease_until <= ($4::timestamptz[])[e.priority])
       AND (s.next_sweep_at IS NULL OR s.next_sweep_at <= $5::timestamptz)
FROM (
    SELECT id, priority FROM executions
    WHERE status <> 4 AND status = ANY ($1::smallint[]) AND id > $2::uuid
    ORDER BY id
    LIMIT $3::bigint
) e
JOIN execution_state s ON s.execution_id = e.id
ORDER BY e.id
