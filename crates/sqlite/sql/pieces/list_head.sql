SELECT e.id
