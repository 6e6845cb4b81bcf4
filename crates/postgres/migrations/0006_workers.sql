-- What workers say of themselves. Written every few seconds by each of them, so nothing but the key is indexed.

DROP TABLE workers;

CREATE TABLE workers (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    roles text[] NOT NULL,
    node_types text[] NOT NULL,
    slots integer NOT NULL,
    busy integer NOT NULL,
    doing text[] NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
