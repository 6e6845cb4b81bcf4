-- What `pawl bench` compares with: a step is one inserted row of 200 bytes and one guarded update of a 1 KB row.
CREATE TABLE bench_state (
    id integer NOT NULL PRIMARY KEY,
    version bigint NOT NULL,
    state text NOT NULL
) WITH (fillfactor = 60);
CREATE TABLE bench_steps (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state_id integer NOT NULL,
    payload text NOT NULL
);
INSERT INTO bench_state SELECT n, 0, repeat('s', 1000) FROM generate_series(1, 1024) n;
