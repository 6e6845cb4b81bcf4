SELECT count(*) FROM plain_actions WHERE done_at IS NOT NULL
