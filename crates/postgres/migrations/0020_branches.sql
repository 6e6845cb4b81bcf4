-- The retries and forks of an execution. Few executions are either.
CREATE INDEX executions_by_origin ON executions (retry_of, id) WHERE retry_of IS NOT NULL;
CREATE INDEX executions_by_fork ON executions (forked_from, id) WHERE forked_from IS NOT NULL;
