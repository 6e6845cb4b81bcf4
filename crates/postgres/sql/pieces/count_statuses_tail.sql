) found
