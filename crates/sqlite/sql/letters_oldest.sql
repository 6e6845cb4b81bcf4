SELECT id, execution_id, reason, octet_length(message), created_at, requeued_at, requeued_as
FROM dead_letters
WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR instr(lower(reason), lower(?3)) > 0)
ORDER BY id
LIMIT ?4
