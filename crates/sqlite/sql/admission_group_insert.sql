INSERT INTO admission_groups (priority, quotas) VALUES (?1, ?2)
