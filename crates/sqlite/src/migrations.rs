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

    #[test]
    fn every_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), MIGRATIONS.len());
    }
}
