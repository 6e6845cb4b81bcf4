SELECT pg_snapshot_xmin(pg_current_snapshot())::text::numeric > $1::text::numeric
