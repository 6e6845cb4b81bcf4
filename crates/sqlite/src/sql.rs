//! The statements: one per file in `sql/`, and no SQL text anywhere else.

macro_rules! statements {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../sql/", $file, ".sql"));)+

        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($file, $name)),+];
    };
}

statements! {
    COUNT_ALL = "count_all",
    COUNT_ANY = "count_any",
    COUNT_BY_SCHEMA = "count_by_schema",
    COUNT_BY_STATUS = "count_by_status",
    DEAD_LETTER_INSERT = "dead_letter_insert",
    DEAD_LETTERS_AFTER = "dead_letters_after",
    EXECUTION_BY_KEY = "execution_by_key",
    EXECUTION_END = "execution_end",
    EXECUTION_INSERT = "execution_insert",
    EXECUTION_LOAD = "execution_load",
    EXECUTION_LOAD_HEAD = "execution_load_head",
    EXECUTION_SET_STATUS = "execution_set_status",
    EXECUTION_VIEW = "execution_view",
    IDS_BY_STATUS_AFTER = "ids_by_status_after",
    INCOMING_DELETE = "incoming_delete",
    INCOMING_OF_SHARD = "incoming_of_shard",
    LEASES_EXPIRED = "leases_expired",
    LEASES_HELD = "leases_held",
    LIST_ALL = "list_all",
    LIST_BY_SCHEMA = "list_by_schema",
    LIST_BY_STATUS = "list_by_status",
    LOG_INSERT = "log_insert",
    LOG_LAST_NUMBER = "log_last_number",
    LOGS_AFTER = "logs_after",
    MIGRATION_RECORD = "migration_record",
    MIGRATIONS_APPLIED = "migrations_applied",
    MIGRATIONS_TABLE = "migrations_table",
    PROCESSING_DELETE = "processing_delete",
    PROCESSING_INSERT = "processing_insert",
    PROCESSING_NEXT = "processing_next",
    PROCESSING_UPCOMING = "processing_upcoming",
    SCHEMA_BY_ID = "schema_by_id",
    SCHEMA_BY_NAME = "schema_by_name",
    SCHEMA_DELETE = "schema_delete",
    SCHEMA_INSERT = "schema_insert",
    SCHEMA_SET_ACTIVE = "schema_set_active",
    SCHEMA_UPDATE = "schema_update",
    SCHEMAS_LIST = "schemas_list",
    SHARD_ADD = "shard_add",
    SHARDS_KEEP = "shards_keep",
    SHARDS_LOCK = "shards_lock",
    SHARDS_OWNED = "shards_owned",
    SHARDS_UNLOCK = "shards_unlock",
    SHARDS_UNLOCK_ALL = "shards_unlock_all",
    SIGNAL_CONSUME = "signal_consume",
    SIGNAL_INSERT = "signal_insert",
    SIGNAL_KNOWN = "signal_known",
    SIGNALS_ALL = "signals_all",
    SIGNALS_OPEN = "signals_open",
    SNAPSHOT_INSERT = "snapshot_insert",
    SNAPSHOT_NEWEST = "snapshot_newest",
    STATE_HEARTBEAT = "state_heartbeat",
    STATE_INBOX = "state_inbox",
    STATE_INSERT = "state_insert",
    STATE_PUT_OFF = "state_put_off",
    STATE_SWEEPS = "state_sweeps",
    STATE_UPDATE = "state_update",
    STEP_INSERT = "step_insert",
    STEPS_BETWEEN = "steps_between",
    TIMER_INSERT = "timer_insert",
    TIMER_SHARD = "timer_shard",
    VERSION_HASH = "version_hash",
    VERSION_INSERT = "version_insert",
    VERSION_LOAD = "version_load",
    VERSIONS_LIST = "versions_list",
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
            // The benchmark's baseline has a database of its own.
            .filter(|entry| entry.file_name() != "baseline")
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        let listed = ALL.iter().map(|(file, _)| format!("{file}.sql")).collect();
        assert_eq!(files, listed);
    }
}
