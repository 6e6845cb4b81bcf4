UPDATE schemas SET name = $2::text, description = $3::text, external_id = $4::bigint, published_version = nullif($5::integer, latest_version), updated_at = $6::timestamptz
WHERE id = $1::uuid
