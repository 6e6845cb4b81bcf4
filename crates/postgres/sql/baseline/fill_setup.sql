CREATE OR REPLACE FUNCTION bench_id(n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1700000000000 + n / 10), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8'
            || lpad(to_hex(n), 15, '0'))::uuid
$$;
