\set id random(1, 1024)
WITH moved AS (
    UPDATE bench_state SET version = version + 1, state = repeat(chr(97 + (version % 26)::integer), 1000)
    WHERE id = :id AND version >= 0
    RETURNING id
)
INSERT INTO bench_steps (state_id, payload) SELECT id, repeat('p', 200) FROM moved;
