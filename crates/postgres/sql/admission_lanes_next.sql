SELECT min(open_at) FROM admission_lanes WHERE open_at IS NOT NULL AND open_at > $1::timestamptz
