//! Numbered migrations, embedded: each is applied once, in a transaction of its own, and never changes afterwards.

use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::sql;

struct Migration {
    version: i64,
    name: &'static str,
    text: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal),+ $(,)?) => {
        &[$(Migration {
            version: $version,
            name: $name,
            text: include_str!(concat!("../migrations/", $name, ".sql")),
        }),+]
    };
}

const MIGRATIONS: &[Migration] = migrations![
    1 "0001_executions",
    2 "0002_schemas",
    3 "0003_timers",
    4 "0004_keys",
    5 "0005_quotas",
    6 "0006_workers",
    7 "0007_retention",
    8 "0008_counting",
];

#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    #[error(
        "the database was written by a newer Pawl: it has migration {found}, this program knows up to {known}; \
         use the newer program or restore a backup"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "migration `{name}` of this database is not the one in this program; the program or the database was altered"
    )]
    Changed { name: String },
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

/// Brings the database up to date.
pub(crate) fn apply(connection: &mut Connection) -> Result<(), MigrationError> {
    connection.execute(sql::MIGRATIONS_TABLE, [])?;
    let done = applied(connection)?;
    check(&done)?;
    for migration in &MIGRATIONS[done.len()..] {
        run(connection, migration)?;
    }
    Ok(())
}

/// The newest migration known here.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

struct Applied {
    version: i64,
    name: String,
    checksum: String,
}

fn applied(connection: &Connection) -> rusqlite::Result<Vec<Applied>> {
    let mut statement = connection.prepare(sql::MIGRATIONS_APPLIED)?;
    let rows = statement.query_map([], |row| {
        Ok(Applied {
            version: row.get(0)?,
            name: row.get(1)?,
            checksum: row.get(2)?,
        })
    })?;
    rows.collect()
}

/// What was applied must be the beginning of what is known.
fn check(done: &[Applied]) -> Result<(), MigrationError> {
    if let Some(last) = done.last().filter(|last| last.version > newest()) {
        return Err(MigrationError::Newer {
            found: last.version,
            known: newest(),
        });
    }
    for (index, row) in done.iter().enumerate() {
        let same = MIGRATIONS.get(index).is_some_and(|known| {
            known.version == row.version && checksum(known.text) == row.checksum
        });
        if !same {
            return Err(MigrationError::Changed {
                name: row.name.clone(),
            });
        }
    }
    Ok(())
}

fn run(connection: &mut Connection, migration: &Migration) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(migration.text)?;
    transaction.execute(
        sql::MIGRATION_RECORD,
        params![migration.version, migration.name, checksum(migration.text)],
    )?;
    transaction.commit()
}

fn checksum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
