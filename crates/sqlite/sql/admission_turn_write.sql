UPDATE admission_turn SET turn = ?1 WHERE id = 1
