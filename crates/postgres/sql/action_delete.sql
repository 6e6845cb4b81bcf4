DELETE FROM scheduled_actions WHERE id = $1::text RETURNING id
