SELECT turn FROM admission_turn WHERE id = 1
