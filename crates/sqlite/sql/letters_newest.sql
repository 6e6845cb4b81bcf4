SELECT id, execution_id, reason, octet_length(message), created_at, requeued_at, requeued_as
FROM dead_letters
WHERE id < ?1
  AND (NOT ?2 OR requeued_at IS NULL)
  AND (?3 IS NULL OR instr(lower(reason), lower(?3)) > 0)
  AND (?4 IS NULL OR id IN (SELECT value FROM json_each(?4)))
ORDER BY id DESC
LIMIT ?5
