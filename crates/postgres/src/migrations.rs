//! Numbered migrations, embedded: applied once, all in one transaction under a lock, and never changed afterwards.

use sha2::{Digest, Sha256};

use crate::error::{Fault, Outcome};
use crate::session::Session;
use crate::sql;
use crate::value::Plain;

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
    #[error("{0}")]
    Failed(String),
}

impl From<Fault> for MigrationError {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault.to_string())
    }
}

/// Brings the database up to date. Whoever comes second waits, and finds it done.
pub(crate) async fn apply(session: &Session, schema: &str) -> Result<(), MigrationError> {
    session.begin().await?;
    // Another process may be at it, and may have much to do.
    session
        .script("SET LOCAL lock_timeout = '120s'; SET LOCAL statement_timeout = '600s'")
        .await?;
    session.rows(&sql::MIGRATIONS_LOCK, &[&schema]).await?;
    session
        .script(&format!("CREATE SCHEMA IF NOT EXISTS {schema}"))
        .await?;
    session.script(sql::MIGRATIONS_TABLE.text).await?;
    let done = applied(session).await?;
    check(&done)?;
    for migration in &MIGRATIONS[done.len()..] {
        tracing::info!(migration = migration.name, "migrating the database");
        session.script(migration.text).await?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] = [
            &migration.version,
            &migration.name,
            &checksum(migration.text),
        ];
        session.rows(&sql::MIGRATION_RECORD, &values).await?;
    }
    Ok(session.commit().await?)
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

async fn applied(session: &Session) -> Outcome<Vec<Applied>> {
    let rows = session.rows(&sql::MIGRATIONS_APPLIED, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Applied {
                version: row.try_get(0)?,
                name: row.try_get::<_, Plain>(1)?.0,
                checksum: row.try_get::<_, Plain>(2)?.0,
            })
        })
        .collect()
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

fn checksum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), MIGRATIONS.len());
    }
}
