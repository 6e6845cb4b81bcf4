//! The statements: one per file in `sql/`, and no SQL text anywhere else.
//!
//! Every parameter is cast where it stands (`$1::uuid[]`): the cast tells the reader what it is, and this program how
//! to send it, also where nothing can be prepared ahead.

use std::sync::OnceLock;

use tokio_postgres::types::Type;

pub(crate) struct Sql {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    kinds: OnceLock<Vec<Type>>,
}

impl Sql {
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            kinds: OnceLock::new(),
        }
    }

    /// The types of the parameters, in order.
    pub(crate) fn kinds(&self) -> &[Type] {
        self.kinds.get_or_init(|| parameter_kinds(self.text))
    }
}

fn parameter_kinds(text: &str) -> Vec<Type> {
    let mut kinds = Vec::new();
    for piece in text.split('$').skip(1) {
        let digits = piece.find(|letter: char| !letter.is_ascii_digit());
        let (number, rest) = piece.split_at(digits.unwrap_or(piece.len()));
        let (Ok(number), Some(rest)) = (number.parse::<usize>(), rest.strip_prefix("::")) else {
            continue;
        };
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let is_array = rest[end..].starts_with("[]");
        if kinds.len() < number {
            kinds.resize(number, Type::UNKNOWN);
        }
        kinds[number - 1] = kind(&rest[..end], is_array);
    }
    kinds
}

fn kind(name: &str, is_array: bool) -> Type {
    let (single, array) = match name {
        "uuid" => (Type::UUID, Type::UUID_ARRAY),
        "timestamptz" => (Type::TIMESTAMPTZ, Type::TIMESTAMPTZ_ARRAY),
        "smallint" => (Type::INT2, Type::INT2_ARRAY),
        "integer" => (Type::INT4, Type::INT4_ARRAY),
        "bigint" => (Type::INT8, Type::INT8_ARRAY),
        "boolean" => (Type::BOOL, Type::BOOL_ARRAY),
        "text" => (Type::TEXT, Type::TEXT_ARRAY),
        "bytea" => (Type::BYTEA, Type::BYTEA_ARRAY),
        "json" => (Type::JSON, Type::JSON_ARRAY),
        _ => (Type::UNKNOWN, Type::UNKNOWN),
    };
    if is_array { array } else { single }
}

macro_rules! statements {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub(crate) static $name: Sql = Sql::new($file, include_str!(concat!("../sql/", $file, ".sql")));)+

        pub(crate) static ALL: &[&Sql] = &[$(&$name),+];
    };
}

statements! {
    ABOUT = "about",
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
    ACTIONS_FREE = "actions_free",
    ACTIONS_DUE = "actions_due",
    ACTIONS_LIST = "actions_list",
    ACTIONS_LIST_FINISHED = "actions_list_finished",
    ACTIONS_LIST_OPEN = "actions_list_open",
    ACTIONS_LOAD = "actions_load",
    ACTIONS_NOT_DUE = "actions_not_due",
    ACTIONS_OUTDATED = "actions_outdated",
    ACTIONS_REMOVE = "actions_remove",
    ACTIONS_UPDATE = "actions_update",
    ACTION_DELETE = "action_delete",
    ACTION_LOAD = "action_load",
    ACTION_LOCK = "action_lock",
    ACTION_QUEUED = "action_queued",
    ACTION_WRITE = "action_write",
    ADMISSION_GROUPS = "admission_groups",
    ADMISSION_GROUPS_ADD = "admission_groups_add",
    ADMISSION_GROUPS_FIND = "admission_groups_find",
    ADMISSION_GROUPS_REMOVE = "admission_groups_remove",
    ADMISSION_GROUPS_WAITING = "admission_groups_waiting",
    ADMISSION_LANES_ALL = "admission_lanes_all",
    ADMISSION_LANES_COUNTED = "admission_lanes_counted",
    ADMISSION_LANES_JOIN = "admission_lanes_join",
    ADMISSION_LANES_LEAVE = "admission_lanes_leave",
    ADMISSION_LANES_NEXT = "admission_lanes_next",
    ADMISSION_LANES_OF_GROUPS = "admission_lanes_of_groups",
    ADMISSION_LANES_OF_KEY = "admission_lanes_of_key",
    ADMISSION_LANES_OPEN = "admission_lanes_open",
    ADMISSION_LANES_REMOVE = "admission_lanes_remove",
    ADMISSION_LINE_BEFORE = "admission_line_before",
    ADMISSION_LINE_DELETE = "admission_line_delete",
    ADMISSION_LINE_FIRST = "admission_line_first",
    ADMISSION_LINE_INSERT = "admission_line_insert",
    ADMISSION_LINE_KNOWN = "admission_line_known",
    ADMISSION_LOCK = "admission_lock",
    ADMISSION_TURN_READ = "admission_turn_read",
    ADMISSION_TURN_WRITE = "admission_turn_write",
    ANSWER_FIRST = "answer_first",
    ATTEMPTS_BEFORE = "attempts_before",
    ATTEMPTS_FORGET = "attempts_forget",
    ATTEMPTS_INSERT = "attempts_insert",
    ATTEMPTS_REMOVE = "attempts_remove",
    CLOCK_READ = "clock_read",
    DEAD_LETTERS_AFTER = "dead_letters_after",
    DEAD_LETTERS_OPEN = "dead_letters_open",
    DEAD_LETTER_BY_ID = "dead_letter_by_id",
    DEAD_LETTER_INSERT = "dead_letter_insert",
    DEAD_LETTER_REQUEUED = "dead_letter_requeued",
    EXECUTIONS_BETWEEN = "executions_between",
    EXECUTIONS_BRIEF = "executions_brief",
    EXECUTIONS_BY_KEYS = "executions_by_keys",
    EXECUTIONS_CREATE = "executions_create",
    EXECUTIONS_LOAD = "executions_load",
    EXECUTIONS_OPEN_BETWEEN = "executions_open_between",
    EXECUTIONS_OUTDATED = "executions_outdated",
    EXECUTIONS_QUEUED = "executions_queued",
    EXECUTIONS_REMOVE = "executions_remove",
    EXECUTIONS_RUNNING_BY_KEYS = "executions_running_by_keys",
    EXECUTIONS_SET_QUOTAS = "executions_set_quotas",
    EXECUTIONS_VIEW = "executions_view",
    EXECUTIONS_WRITERS = "executions_writers",
    EXECUTION_BY_KEY = "execution_by_key",
    EXECUTION_HEADS_LOAD = "execution_heads_load",
    EXECUTION_LOAD_HEAD = "execution_load_head",
    EXECUTION_RETRIED_AS = "execution_retried_as",
    EXECUTION_SET_RETRIED = "execution_set_retried",
    IDS_BY_STATUS_AFTER = "ids_by_status_after",
    INCOMING_COLLECT = "incoming_collect",
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
    LETTERS_END_DOWN = "letters_end_down",
    LETTERS_END_UP = "letters_end_up",
    LETTERS_NAMED = "letters_named",
    LETTERS_NEWEST = "letters_newest",
    LETTERS_OLDEST = "letters_oldest",
    LETTERS_OPEN_COUNT = "letters_open_count",
    LETTERS_OPEN_END_DOWN = "letters_open_end_down",
    LETTERS_OPEN_END_UP = "letters_open_end_up",
    LETTERS_OPEN_NEWEST = "letters_open_newest",
    LETTERS_OPEN_OLDEST = "letters_open_oldest",
    LOGS_AFTER = "logs_after",
    LOGS_NEWEST = "logs_newest",
    LOGS_OLDEST = "logs_oldest",
    LOGS_REMOVE = "logs_remove",
    MIGRATIONS_APPLIED = "migrations_applied",
    MIGRATIONS_LOCK = "migrations_lock",
    MIGRATIONS_TABLE = "migrations_table",
    MIGRATION_RECORD = "migration_record",
    OUTLINE = "outline",
    PARTITIONS_DETACHED = "partitions_detached",
    PARTITIONS_LOCK = "partitions_lock",
    PARTITION_BOUNDS = "partition_bounds",
    PULSE = "pulse",
    NEWEST_OF_SCHEMAS = "newest_of_schemas",
    NOTES_OF = "notes_of",
    NOTE_INSERT = "note_insert",
    PROCESSING_DELETE = "processing_delete",
    PROCESSING_MOVE = "processing_move",
    PROCESSING_NEXT = "processing_next",
    PROCESSING_UPCOMING = "processing_upcoming",
    PUBLISHED_VERSIONS = "published_versions",
    QUOTAS_ADD = "quotas_add",
    QUOTAS_COUNTERS = "quotas_counters",
    QUOTAS_DELETE = "quotas_delete",
    QUOTAS_LIST = "quotas_list",
    QUOTAS_LOAD = "quotas_load",
    QUOTAS_LOCK = "quotas_lock",
    QUOTAS_PUT = "quotas_put",
    QUOTAS_SET = "quotas_set",
    QUOTAS_SET_NAMES = "quotas_set_names",
    QUOTA_CLAIMS = "quota_claims",
    QUOTA_COUNTED = "quota_counted",
    QUOTA_EPOCH_NEXT = "quota_epoch_next",
    QUOTA_HOLDERS = "quota_holders",
    QUOTA_HOLDERS_COUNT = "quota_holders_count",
    QUOTA_HOLDERS_COUNT_OF = "quota_holders_count_of",
    QUOTA_HOLDERS_DELETE = "quota_holders_delete",
    QUOTA_HOLDERS_INSERT = "quota_holders_insert",
    QUOTA_HOLDERS_KNOWN = "quota_holders_known",
    QUOTA_HOLDERS_STRAY = "quota_holders_stray",
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
    SCHEMA_LOCK = "schema_lock",
    SCHEMA_PUBLISH = "schema_publish",
    SCHEMA_SET_ACTIVE = "schema_set_active",
    SCHEMA_UPDATE = "schema_update",
    SEARCH_PATH = "search_path",
    SERVER_COUNTERS = "server_counters",
    SERVER_VERSION = "server_version",
    SHARDS_KEEP = "shards_keep",
    SHARDS_LOCK = "shards_lock",
    SHARDS_OWNED = "shards_owned",
    SHARDS_UNLOCK = "shards_unlock",
    SHARD_ADD = "shard_add",
    SESSIONS_FORGET = "sessions_forget",
    SESSION_END = "session_end",
    SESSION_INSERT = "session_insert",
    SESSION_LOAD = "session_load",
    SESSION_TOUCH = "session_touch",
    SIGNALS_AFTER = "signals_after",
    SIGNALS_ALL = "signals_all",
    SIGNALS_OPEN = "signals_open",
    SIGNAL_CONSUME = "signal_consume",
    SIGNAL_INSERT = "signal_insert",
    SIGNAL_KNOWN = "signal_known",
    SNAPSHOTS_REMOVE = "snapshots_remove",
    SNAPSHOT_INSERT = "snapshot_insert",
    SNAPSHOT_NEWEST = "snapshot_newest",
    STATES_FREE = "states_free",
    STATES_LOCK = "states_lock",
    STATES_TOUCH = "states_touch",
    STATE_HEARTBEAT = "state_heartbeat",
    STATE_HELD = "state_held",
    STATE_INBOX = "state_inbox",
    STEPS_BETWEEN = "steps_between",
    STEPS_INSERT = "steps_insert",
    STEPS_SINCE_SNAPSHOT = "steps_since_snapshot",
    STEPS_REMOVE = "steps_remove",
    SWEEPS_OF = "sweeps_of",
    SWEEPS_PUT_OFF = "sweeps_put_off",
    SWEEP_PAGE = "sweep_page",
    TABLE_BYTES = "table_bytes",
    TALLY_STATUSES = "tally_statuses",
    TIMER_INSERT = "timer_insert",
    TIMER_SHARD = "timer_shard",
    TRANSITIONS_WRITE = "transitions_write",
    VERSIONS_LIST = "versions_list",
    VERSION_INSERT = "version_insert",
    VERSION_LOAD = "version_load",
    VERSION_TEXT = "version_text",
    WEBHOOKS_DELETE = "webhooks_delete",
    WEBHOOKS_KNOWN = "webhooks_known",
    WEBHOOKS_LIST = "webhooks_list",
    WEBHOOKS_OF_SCHEMAS = "webhooks_of_schemas",
    WEBHOOK_INSERT = "webhook_insert",
    SCHEMA_REVISION_NEXT = "schema_revision_next",
    WEBHOOK_REVISION_NEXT = "webhook_revision_next",
    WEBHOOK_REVISION_READ = "webhook_revision_read",
    WEBHOOK_TAKEN = "webhook_taken",
    WORKERS_SINCE = "workers_since",
    WORKER_REMOVE = "worker_remove",
    WORKER_REPORT = "worker_report",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sql");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            // Folders hold texts that are no statements of the store.
            .filter(|entry| entry.file_type().unwrap().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        let listed = ALL.iter().map(|sql| format!("{}.sql", sql.name)).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn every_parameter_is_cast_to_a_known_type() {
        for sql in ALL {
            let unknown = sql.kinds().iter().position(|kind| *kind == Type::UNKNOWN);
            assert_eq!(unknown, None, "{}: a parameter without a cast", sql.name);
        }
    }

    #[test]
    fn kinds_are_read_from_the_casts() {
        let kinds = parameter_kinds("SELECT $2::text, $1::uuid[], $2, $3::json[]::text[]");
        assert_eq!(kinds, [Type::UUID_ARRAY, Type::TEXT, Type::JSON_ARRAY]);
    }
}
