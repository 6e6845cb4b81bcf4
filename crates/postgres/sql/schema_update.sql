UPDATE schemas SET name = $2::text, description = $3::text, external_id = $6::bigint, latest_version = $4::integer, updated_at = $5::timestamptz
WHERE id = $1::uuid
