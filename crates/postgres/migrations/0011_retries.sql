-- Retries: which execution a failed one was retried as, and the last error of a node between tries.
ALTER TABLE executions ADD COLUMN retried_as uuid;
ALTER TABLE execution_state ADD COLUMN last_error json;
