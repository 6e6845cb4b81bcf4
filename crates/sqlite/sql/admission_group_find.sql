SELECT id FROM admission_groups WHERE priority = ?1 AND quotas = ?2
