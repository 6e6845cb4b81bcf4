-- What a row of the queues is about: 1 a wait of an execution, 2 a scheduled action, 0 not written down. 0 is what workers of
-- the version before insert, who may go on for a while beside newer ones, and what rows have that are older than this
-- column: to judge them all here would keep both queues locked for as long as that takes.
-- In this order: workers that fire timers lock `processing_queue` first, too.
ALTER TABLE processing_queue ADD COLUMN kind smallint NOT NULL DEFAULT 0;
ALTER TABLE incoming_queue ADD COLUMN kind smallint NOT NULL DEFAULT 0;

-- Judges a row without a kind, when it is read. The id of an action may look like that of an execution; then the guid
-- decides. It is written in the same transaction as the row, so it is there, unless the action was written anew since then:
-- such a row means nothing any more and is dropped as either kind.
CREATE FUNCTION timer_kind(action_id text, action_guid uuid) RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN $1 !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN 2::smallint
        WHEN EXISTS (SELECT FROM scheduled_actions a WHERE a.id = $1 AND a.guid = $2) THEN 2::smallint
        ELSE 1::smallint
    END
$$;
