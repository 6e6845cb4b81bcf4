DROP TABLE {name}
