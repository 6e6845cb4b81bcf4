-- Letters go with the execution they are about.
CREATE INDEX dead_letters_by_execution ON dead_letters (execution_id) WHERE execution_id IS NOT NULL;
