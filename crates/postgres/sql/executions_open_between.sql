-- Is one of these executions open? By the small index, which knows every status but completed.
SELECT EXISTS (
    SELECT 1 FROM executions
    WHERE status <> 4 AND status = ANY ($3::smallint[]) AND id >= $1::uuid AND id < $2::uuid
)
