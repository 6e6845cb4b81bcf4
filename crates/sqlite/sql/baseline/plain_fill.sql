INSERT INTO plain_actions (id, spec, due_at) VALUES (?1, ?2, ?3)
