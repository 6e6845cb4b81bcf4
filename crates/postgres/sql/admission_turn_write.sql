UPDATE admission_turn SET turn = $1::bigint WHERE id = 1
