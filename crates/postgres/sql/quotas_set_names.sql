SELECT q.epoch, s.name
FROM quota_epoch q
LEFT JOIN quotas s ON s.source IS NOT NULL
