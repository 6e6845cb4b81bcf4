-- What a row of the queues is about: 1 a wait of an execution, 2 a scheduled action. Before, the id told them apart, and the
-- guid where the id of an action looks like that of an execution. (0 is for the cluster, where workers that do not know the
-- column may write beside those that do; here no row has it.)
ALTER TABLE incoming_queue ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
ALTER TABLE processing_queue ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;

UPDATE incoming_queue SET kind = iif(
    length(action_id) = 36 AND replace(action_id, '-', '') NOT GLOB '*[^0-9a-f]*'
        AND length(replace(action_id, '-', '')) = 32
        AND NOT EXISTS (SELECT 1 FROM scheduled_actions a WHERE a.id = action_id AND a.guid = action_guid),
    1, 2
);

UPDATE processing_queue SET kind = iif(
    length(action_id) = 36 AND replace(action_id, '-', '') NOT GLOB '*[^0-9a-f]*'
        AND length(replace(action_id, '-', '')) = 32
        AND NOT EXISTS (SELECT 1 FROM scheduled_actions a WHERE a.id = action_id AND a.guid = action_guid),
    1, 2
);
