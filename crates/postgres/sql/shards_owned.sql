-- Shared: others may read the same locks, but no process can take them while a transaction under them is open.
SELECT shard_id, last_lock_guid FROM shard_locks WHERE locked AND last_lock_guid = ANY ($1::uuid[]) ORDER BY shard_id FOR SHARE
