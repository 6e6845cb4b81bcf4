INSERT INTO action_attempts (action_id, generation, ordinal, attempt, planned_at, started_at, finished_at, status, error)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
    $7::timestamptz[], $8::text[], $9::json[])
ON CONFLICT (action_id, generation, ordinal) DO NOTHING
