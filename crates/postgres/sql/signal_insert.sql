INSERT INTO signals (execution_id, id, name, payload, consumed_seq, created_at, inbox)
SELECT * FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::json[], $5::bigint[], $6::timestamptz[], $7::bigint[]
)
