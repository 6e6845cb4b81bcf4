//! The statements: one per file in `sql/`, and no SQL text anywhere else.

macro_rules! statements {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../sql/", $file, ".sql"));)+

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($file, $name)),+];
    };
}

statements! {
    ACTIONS_LIST = "actions_list",
    PINS_REMOVE = "pins_remove",
    PIN_REMOVE = "pin_remove",
    PIN_PUT = "pin_put",
    PIN_LOAD = "pin_load",
    PIN_HEADS = "pin_heads",
    PINS_LOAD = "pins_load",
    LAYOUT_REMOVE = "layout_remove",
    LAYOUT_PUT = "layout_put",
    LAYOUT_LOAD = "layout_load",
    SCHEMA_KNOWN = "schema_known",
    ACTIONS_LIST_FINISHED = "actions_list_finished",
    ACTIONS_LIST_OPEN = "actions_list_open",
    ACTIONS_OUTDATED = "actions_outdated",
    ACTION_DELETE = "action_delete",
    ACTION_LOAD = "action_load",
    ACTION_REMOVE = "action_remove",
    ACTION_QUEUED = "action_queued",
    ACTION_UPDATE = "action_update",
    ACTION_WRITE = "action_write",
    ADMISSION_GROUPS = "admission_groups",
    ADMISSION_GROUP_DELETE = "admission_group_delete",
    ADMISSION_GROUP_FIND = "admission_group_find",
    ADMISSION_GROUP_INSERT = "admission_group_insert",
    ADMISSION_LANES_ALL = "admission_lanes_all",
    ADMISSION_LANES_NEXT = "admission_lanes_next",
    ADMISSION_LANES_OF_KEY = "admission_lanes_of_key",
    ADMISSION_LANES_OPEN = "admission_lanes_open",
    ADMISSION_LANE_COUNTED = "admission_lane_counted",
    ADMISSION_LANE_DELETE = "admission_lane_delete",
    ADMISSION_LANE_JOIN = "admission_lane_join",
    ADMISSION_LANE_LEAVE = "admission_lane_leave",
    ADMISSION_LANE_TURN = "admission_lane_turn",
    ADMISSION_LINE_BEFORE = "admission_line_before",
    ADMISSION_LINE_DELETE = "admission_line_delete",
    ADMISSION_LINE_FIRST = "admission_line_first",
    ADMISSION_LINE_INSERT = "admission_line_insert",
    ADMISSION_LINE_KNOWN = "admission_line_known",
    ADMISSION_TURN_READ = "admission_turn_read",
    ADMISSION_TURN_WRITE = "admission_turn_write",
    ANSWER_FIRST = "answer_first",
    ATTEMPTS_BEFORE = "attempts_before",
    ATTEMPTS_FORGET = "attempts_forget",
    ATTEMPTS_REMOVE = "attempts_remove",
    ATTEMPT_INSERT = "attempt_insert",
    COUNT_ANY = "count_any",
    DEAD_LETTERS_AFTER = "dead_letters_after",
    DEAD_LETTERS_OPEN = "dead_letters_open",
    DEAD_LETTERS_REMOVE = "dead_letters_remove",
    DEAD_LETTER_BY_ID = "dead_letter_by_id",
    DEAD_LETTER_INSERT = "dead_letter_insert",
    DEAD_LETTER_REQUEUED = "dead_letter_requeued",
    EXECUTIONS_OUTDATED = "executions_outdated",
    EXECUTION_BRIEF = "execution_brief",
    EXECUTION_BY_KEY = "execution_by_key",
    EXECUTION_END = "execution_end",
    EXECUTION_INSERT = "execution_insert",
    EXECUTION_LOAD = "execution_load",
    EXECUTION_LOAD_HEAD = "execution_load_head",
    EXECUTION_REMOVE = "execution_remove",
    EXECUTION_RETRIED_AS = "execution_retried_as",
    EXECUTION_RUNNING_BY_KEY = "execution_running_by_key",
    EXECUTION_SET_QUOTAS = "execution_set_quotas",
    EXECUTION_SET_RETRIED = "execution_set_retried",
    EXECUTION_SET_STATUS = "execution_set_status",
    EXECUTION_VIEW = "execution_view",
    IDS_BY_STATUS_AFTER = "ids_by_status_after",
    INCOMING_DELETE = "incoming_delete",
    INCOMING_OF_SHARD = "incoming_of_shard",
    KEYS_BEFORE = "keys_before",
    KEY_BY_HASH = "key_by_hash",
    KEY_BY_ID = "key_by_id",
    KEY_BY_NAME = "key_by_name",
    KEY_INSERT = "key_insert",
    KEY_REVOKE = "key_revoke",
    KEY_TOUCH = "key_touch",
    LEASES_EXPIRED = "leases_expired",
    LEASES_HELD = "leases_held",
    LETTERS_COUNT = "letters_count",
    LETTERS_NEWEST = "letters_newest",
    LETTERS_OLDEST = "letters_oldest",
    LOGS_AFTER = "logs_after",
    LOGS_NEWEST = "logs_newest",
    LOGS_OLDEST = "logs_oldest",
    LOGS_REMOVE = "logs_remove",
    LOG_INSERT = "log_insert",
    LOG_LAST_NUMBER = "log_last_number",
    MIGRATIONS_APPLIED = "migrations_applied",
    MIGRATIONS_TABLE = "migrations_table",
    MIGRATION_RECORD = "migration_record",
    NEWEST_OF_SCHEMA = "newest_of_schema",
    NOTES_OF = "notes_of",
    NOTES_REMOVE = "notes_remove",
    NOTE_INSERT = "note_insert",
    PULSE = "pulse",
    OUTLINE = "outline",
    PROCESSING_DELETE = "processing_delete",
    PROCESSING_INSERT = "processing_insert",
    PROCESSING_MOVE = "processing_move",
    PROCESSING_NEXT = "processing_next",
    PROCESSING_UPCOMING = "processing_upcoming",
    PUBLISHED_VERSIONS = "published_versions",
    QUOTAS_ALL = "quotas_all",
    QUOTAS_LIST = "quotas_list",
    QUOTAS_SET = "quotas_set",
    QUOTA_CLAIMS = "quota_claims",
    QUOTA_COUNTED = "quota_counted",
    QUOTA_DELETE = "quota_delete",
    QUOTA_HOLDERS = "quota_holders",
    QUOTA_HOLDERS_COUNT = "quota_holders_count",
    QUOTA_HOLDERS_COUNT_OF = "quota_holders_count_of",
    QUOTA_HOLDERS_STRAY = "quota_holders_stray",
    QUOTA_HOLDER_DELETE = "quota_holder_delete",
    QUOTA_HOLDER_INSERT = "quota_holder_insert",
    QUOTA_HOLDER_KNOWN = "quota_holder_known",
    QUOTA_LOAD = "quota_load",
    QUOTA_PUT = "quota_put",
    QUOTA_UNCOUNT = "quota_uncount",
    QUOTA_UNCOUNTED = "quota_uncounted",
    SAMPLES_ALL = "samples_all",
    SAMPLES_BY_SCHEMA = "samples_by_schema",
    SCHEMAS_LIST = "schemas_list",
    SCHEMA_BY_EXTERNAL_ID = "schema_by_external_id",
    SCHEMA_BY_ID = "schema_by_id",
    SCHEMA_BY_NAME = "schema_by_name",
    SCHEMA_DELETE = "schema_delete",
    SCHEMA_INSERT = "schema_insert",
    SCHEMA_PUBLISH = "schema_publish",
    SCHEMA_SET_ACTIVE = "schema_set_active",
    SCHEMA_UPDATE = "schema_update",
    SHARDS_AROUND = "shards_around",
    SHARDS_KEEP = "shards_keep",
    SHARDS_LOCK = "shards_lock",
    SHARDS_OWNED = "shards_owned",
    SHARDS_UNLOCK = "shards_unlock",
    SHARDS_UNLOCK_ALL = "shards_unlock_all",
    SHARD_ADD = "shard_add",
    SESSIONS_FORGET = "sessions_forget",
    SESSION_END = "session_end",
    SESSION_INSERT = "session_insert",
    SESSION_LOAD = "session_load",
    SESSION_TOUCH = "session_touch",
    SIGNALS_AFTER = "signals_after",
    SIGNALS_ALL = "signals_all",
    SIGNALS_OPEN = "signals_open",
    SIGNALS_REMOVE = "signals_remove",
    SIGNAL_CONSUME = "signal_consume",
    SIGNAL_INSERT = "signal_insert",
    SIGNAL_KNOWN = "signal_known",
    SNAPSHOTS_REMOVE = "snapshots_remove",
    SNAPSHOT_INSERT = "snapshot_insert",
    SNAPSHOT_NEWEST = "snapshot_newest",
    STATE_HEARTBEAT = "state_heartbeat",
    STATE_INBOX = "state_inbox",
    STATE_INSERT = "state_insert",
    STATE_PUT_OFF = "state_put_off",
    STATE_REMOVE = "state_remove",
    STATE_SWEEPS = "state_sweeps",
    STATE_TOUCH = "state_touch",
    STATE_UPDATE = "state_update",
    STEPS_BETWEEN = "steps_between",
    STEPS_REMOVE = "steps_remove",
    STEP_INSERT = "step_insert",
    TALLY_STATUSES = "tally_statuses",
    TIMER_INSERT = "timer_insert",
    TIMER_SHARD = "timer_shard",
    VERSIONS_LIST = "versions_list",
    WORKER_REMOVE = "worker_remove",
    WORKER_REPORT = "worker_report",
    WORKERS_FORGET = "workers_forget",
    WORKERS_SINCE = "workers_since",
    VERSION_INSERT = "version_insert",
    VERSION_LOAD = "version_load",
    VERSION_TEXT = "version_text",
    WEBHOOKS_DELETE = "webhooks_delete",
    WEBHOOKS_KNOWN = "webhooks_known",
    WEBHOOKS_LIST = "webhooks_list",
    WEBHOOK_INSERT = "webhook_insert",
    WEBHOOK_REVISION_NEXT = "webhook_revision_next",
    WEBHOOK_REVISION_READ = "webhook_revision_read",
    WEBHOOK_TAKEN = "webhook_taken",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::migrations;

    #[test]
    fn every_file_is_one_statement_that_prepares() {
        let mut connection = rusqlite::Connection::open_in_memory().unwrap();
        migrations::apply(&mut connection).unwrap();
        for (file, text) in ALL {
            let statement = connection.prepare(text);
            assert!(statement.is_ok(), "{file}: {:?}", statement.err());
        }
    }

    #[test]
    fn every_file_is_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sql");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            // The benchmark's baseline has a database of its own, and pieces are no statements by themselves.
            .filter(|entry| entry.file_type().unwrap().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        let listed = ALL.iter().map(|(file, _)| format!("{file}.sql")).collect();
        assert_eq!(files, listed);
    }
}
