INSERT INTO quotas (
    name, source, max_running, rate, settings_limit, settings_version, used, waiting, next_at, share_now, share_high,
    share_normal, share_low, updated_at
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT (name) DO UPDATE
SET source = ?2, max_running = ?3, rate = ?4, settings_limit = ?5, settings_version = ?6, used = ?7, waiting = ?8,
    next_at = ?9, share_now = ?10, share_high = ?11, share_normal = ?12, share_low = ?13, updated_at = ?14
