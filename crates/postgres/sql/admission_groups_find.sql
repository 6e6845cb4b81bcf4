SELECT g.id, g.priority, g.quotas
FROM unnest($1::smallint[], $2::text[]) AS x (priority, quotas)
JOIN admission_groups g ON g.priority = x.priority AND g.quotas = x.quotas
