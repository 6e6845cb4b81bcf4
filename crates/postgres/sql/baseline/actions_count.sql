SELECT count(*) FROM scheduled_actions WHERE starts_with(id, $1::text)
