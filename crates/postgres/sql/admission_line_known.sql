SELECT i.group_id, i.key, i.execution_id
FROM admission_line i
JOIN unnest($1::bigint[], $2::text[], $3::uuid[]) AS x (group_id, key, execution_id)
  ON i.group_id = x.group_id AND i.key = x.key AND i.execution_id = x.execution_id
