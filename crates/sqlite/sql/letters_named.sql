SELECT id, execution_id, reason, octet_length(message), created_at, requeued_at, requeued_as
FROM dead_letters
WHERE id IN (SELECT value FROM json_each(?1))
  AND (NOT ?2 OR requeued_at IS NULL)
  AND (?3 IS NULL OR instr(lower(reason), lower(?3)) > 0)
ORDER BY id
