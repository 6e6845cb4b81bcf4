INSERT INTO execution_notes (execution_id, id, text, created_by, created_at)
VALUES ($1::uuid, $2::uuid, $3::text, $4::text, $5::timestamptz)
