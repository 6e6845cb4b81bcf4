//! Numbered migrations, embedded: each is applied once, in a transaction of its own under a lock, and never changes afterwards.

use pawl_kernel::migration::{self, AppliedMigration, Migration};

use crate::error::{Fault, Outcome};
use crate::session::Session;
use crate::sql;
use crate::value::Plain;

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

pub type MigrationError = migration::MigrationError<String>;

impl From<Fault> for MigrationError {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault.to_string())
    }
}

/// Brings the database up to date. A second process waits, and finds it done. Each migration has a transaction and a lock
/// of its own, so that the tables of one are free while the next is made. A lock of the session would be simpler, but a
/// pooler may give each transaction another session.
pub(crate) async fn apply(session: &Session, schema: &str) -> Result<(), MigrationError> {
    while apply_next(session, schema).await? {}
    Ok(())
}

/// Says whether more may be left.
async fn apply_next(session: &Session, schema: &str) -> Result<bool, MigrationError> {
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
    let left = migration::left(MIGRATIONS, &done)?;
    if let Some(migration) = left.first() {
        tracing::info!(migration = migration.name, "migrating the database");
        session.script(migration.text).await?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&migration.version, &migration.name, &migration.checksum()];
        session.rows(&sql::MIGRATION_RECORD, &values).await?;
    }
    session.commit().await?;
    Ok(left.len() > 1)
}

/// The newest migration known here.
pub(crate) fn newest() -> i64 {
    migration::newest(MIGRATIONS)
}

async fn applied(session: &Session) -> Outcome<Vec<AppliedMigration>> {
    let rows = session.rows(&sql::MIGRATIONS_APPLIED, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(AppliedMigration {
                version: row.try_get(0)?,
                name: row.try_get::<_, Plain>(1)?.0,
                checksum: row.try_get::<_, Plain>(2)?.0,
            })
        })
        .collect()
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
