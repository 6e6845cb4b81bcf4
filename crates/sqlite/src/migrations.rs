//! Numbered migrations, embedded: each is applied once, in a transaction of its own, and never changes afterwards.

use pawl_kernel::migration::{self, AppliedMigration, Migration};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::sql;

const MIGRATIONS: &[Migration] = pawl_kernel::migrations![
    1 "0001_executions",
    2 "0002_schemas",
    3 "0003_timers",
    4 "0004_keys",
    5 "0005_quotas",
    6 "0006_workers",
    7 "0007_retention",
    8 "0008_counting",
    9 "0009_actions",
    10 "0010_webhooks",
    11 "0011_retries",
    12 "0012_users",
    13 "0013_notes",
    14 "0014_timer_kinds",
    15 "0015_sessions",
    16 "0016_step_handles",
    18 "0018_drafts",
    19 "0019_editor",
    20 "0020_branches",
    21 "0021_trials",
    22 "0022_lists",
];

pub type MigrationError = migration::MigrationError<rusqlite::Error>;

/// Brings the database up to date.
pub(crate) fn apply(connection: &mut Connection) -> Result<(), MigrationError> {
    let done = applied(connection).map_err(MigrationError::Failed)?;
    for migration in migration::left(MIGRATIONS, &done)? {
        run(connection, migration).map_err(MigrationError::Failed)?;
    }
    Ok(())
}

/// The newest migration known here.
pub(crate) fn newest() -> i64 {
    migration::newest(MIGRATIONS)
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<AppliedMigration>> {
    connection.execute(sql::MIGRATIONS_TABLE, [])?;
    let mut statement = connection.prepare(sql::MIGRATIONS_APPLIED)?;
    let rows = statement.query_map([], |row| {
        Ok(AppliedMigration {
            version: row.get(0)?,
            name: row.get(1)?,
            checksum: row.get(2)?,
        })
    })?;
    rows.collect()
}

fn run(connection: &mut Connection, migration: &Migration) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(migration.text)?;
    transaction.execute(
        sql::MIGRATION_RECORD,
        params![migration.version, migration.name, migration.checksum()],
    )?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection).unwrap();
        connection
    }

    #[test]
    fn applying_twice_changes_nothing() {
        let mut connection = migrated();
        apply(&mut connection).unwrap();
        assert_eq!(applied(&connection).unwrap().len(), MIGRATIONS.len());
    }

    #[test]
    fn a_newer_database_is_refused() {
        let mut connection = migrated();
        let future = params![newest() + 1, "9999_future", "00"];
        connection.execute(sql::MIGRATION_RECORD, future).unwrap();
        let error = apply(&mut connection).unwrap_err();
        assert!(matches!(error, MigrationError::Newer { .. }), "{error}");
    }

    #[test]
    fn an_altered_migration_is_refused() {
        let mut connection = migrated();
        connection
            .execute_batch("UPDATE schema_migrations SET checksum = 'x' WHERE version = 2")
            .unwrap();
        let error = apply(&mut connection).unwrap_err();
        assert!(error.to_string().contains("0002_schemas"), "{error}");
    }

    /// Before they had a kind, the id said what rows of the queues are about, or the guid where the id could be either's.
    #[test]
    fn timers_of_the_version_before_get_their_kind() {
        let mut connection = Connection::open_in_memory().unwrap();
        applied(&connection).unwrap();
        for migration in MIGRATIONS.iter().filter(|one| one.version < 14) {
            run(&mut connection, migration).unwrap();
        }
        let fill = "
            INSERT INTO scheduled_actions (id, guid, spec, status) VALUES
                ('plain', x'01', '{}', '{}'), ('00000000-0000-0000-0000-00000000000a', x'02', '{}', '{}');
            INSERT INTO incoming_queue VALUES
                (0, 0, 'plain', x'01', 0), (0, 0, 'gone', x'09', 0),
                (0, 0, '00000000-0000-0000-0000-00000000000a', x'02', 0),
                (0, 0, '00000000-0000-0000-0000-00000000000a', x'03', 0),
                (0, 0, '00000000-0000-0000-0000-00000000000b', x'04', 0);
            INSERT INTO processing_queue
            SELECT shard_id, scheduled_at, action_id, action_guid, created_at, x'00', 0, NULL, NULL
            FROM incoming_queue";
        connection.execute_batch(fill).unwrap();
        apply(&mut connection).unwrap();
        for queue in ["incoming_queue", "processing_queue"] {
            let kinds = format!(
                "SELECT group_concat(kind, '') FROM (SELECT kind FROM {queue} ORDER BY action_guid)"
            );
            let kinds: String = connection.query_row(&kinds, [], |row| row.get(0)).unwrap();
            assert_eq!(kinds, "22112", "{queue}");
        }
    }

    #[test]
    fn every_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), MIGRATIONS.len());
    }
}
