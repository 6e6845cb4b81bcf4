-- Another number than the last one, if that is still there.
UPDATE quotas SET uncounted = max(coalesce(uncounted, 0) + 1, ?2) WHERE name = ?1
