SELECT count(*) FROM (
SELECT 1
FROM dead_letters INDEXED BY dead_letters_open
WHERE requeued_at IS NULL AND id <= ?1 AND (?2 IS NULL OR instr(lower(reason), lower(?2)) > 0)
LIMIT ?3
)
