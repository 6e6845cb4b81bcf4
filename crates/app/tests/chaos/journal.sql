-- The judge's own witness: every change of a state and of a status, who made it and when, in the order of its row.

CREATE SCHEMA chaos;
CREATE TABLE chaos.journal (
    number bigserial PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    writer text NOT NULL DEFAULT current_setting('application_name'),
    execution_id uuid NOT NULL,
    what text NOT NULL,
    before json,
    after json
);
CREATE INDEX journal_of_execution ON chaos.journal (execution_id, number);

CREATE FUNCTION chaos.note_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.journal (execution_id, what, before, after)
    VALUES (NEW.execution_id, TG_ARGV[0], row_to_json(OLD), row_to_json(NEW));
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.note_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.journal (execution_id, what, before, after)
    VALUES (NEW.id, 'status', json_build_object('status', OLD.status), json_build_object('status', NEW.status));
    RETURN NULL;
END $$;
CREATE FUNCTION chaos.note_tampering() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos.journal (execution_id, what, before) VALUES (OLD.execution_id, 'tampering', row_to_json(OLD));
    RETURN NULL;
END $$;

CREATE TRIGGER note_state AFTER UPDATE ON pawl.execution_state FOR EACH ROW
    WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION chaos.note_state('state');
-- Heartbeats and sweeps leave the version alone, and everything that matters too.
CREATE TRIGGER note_silence AFTER UPDATE ON pawl.execution_state FOR EACH ROW
    WHEN (OLD.version = NEW.version AND (
        OLD.seq, OLD.current_node_id, OLD.attempt, OLD.effect_key, OLD.wait_id, OLD.hold, OLD.control, OLD.inbox,
        OLD.lease_token, OLD.commit_id
    ) IS DISTINCT FROM (
        NEW.seq, NEW.current_node_id, NEW.attempt, NEW.effect_key, NEW.wait_id, NEW.hold, NEW.control, NEW.inbox,
        NEW.lease_token, NEW.commit_id
    )) EXECUTE FUNCTION chaos.note_state('silence');
CREATE TRIGGER note_status AFTER UPDATE ON pawl.executions FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION chaos.note_status();
CREATE TRIGGER note_tampering AFTER UPDATE OR DELETE ON pawl.execution_steps FOR EACH ROW
    EXECUTE FUNCTION chaos.note_tampering();
