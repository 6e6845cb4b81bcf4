SELECT name, used, waiting FROM quotas
