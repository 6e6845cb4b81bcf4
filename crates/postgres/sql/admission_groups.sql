SELECT id, priority, quotas FROM admission_groups
