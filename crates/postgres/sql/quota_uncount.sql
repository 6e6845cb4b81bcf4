UPDATE quotas SET uncounted = $2::bigint WHERE name = $1::text
