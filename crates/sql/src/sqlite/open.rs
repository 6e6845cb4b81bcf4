//! Opening a file, and what statements on it may not do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::guard::APPLIED;

const STATEMENTS_CACHED: usize = 200;
/// For the settings below; afterwards waiting is done by whoever knows the deadline.
const OPENING_BUSY: Duration = Duration::from_secs(2);
/// No value grows larger than this, however a statement makes it.
const VALUE_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Makes the file if it is not there.
    Create,
}

pub(crate) fn open(
    file: &Path,
    access: Access,
    value_bytes: usize,
    ours: Arc<AtomicBool>,
) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if access == Access::Create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(OPENING_BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Anything less may lose acknowledged commits at a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "mmap_size", 0)?;
    if access == Access::Read {
        connection.pragma_update(None, "query_only", true)?;
    }
    for (option, on) in [
        (DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        // "x" is a name, as it is everywhere else, and never a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
    ] {
        connection.set_db_config(option, on)?;
    }
    let bytes = value_bytes.saturating_mul(2).max(VALUE_BYTES);
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.busy_timeout(Duration::ZERO)?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if ours.load(Ordering::Relaxed) || is_allowed(&context.action) {
            Authorization::Allow
        } else {
            Authorization::Deny
        }
    }))?;
    Ok(connection)
}

/// The second line behind the guard of texts: transactions, settings, other files, things that stay with a connection,
/// and our own table.
fn is_allowed(action: &AuthAction<'_>) -> bool {
    use AuthAction as A;
    match action {
        A::Transaction { .. }
        | A::Savepoint { .. }
        | A::Pragma { .. }
        | A::Attach { .. }
        | A::Detach { .. }
        | A::CreateVtable { .. }
        | A::DropVtable { .. }
        | A::CreateTrigger { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempIndex { .. }
        | A::CreateTempView { .. }
        | A::Unknown { .. } => false,
        A::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        other => !table(other).is_some_and(|name| name.eq_ignore_ascii_case(APPLIED)),
    }
}

fn table<'a>(action: &AuthAction<'a>) -> Option<&'a str> {
    use AuthAction as A;
    match *action {
        A::CreateIndex { table_name, .. }
        | A::CreateTable { table_name }
        | A::Delete { table_name }
        | A::DropIndex { table_name, .. }
        | A::DropTable { table_name }
        | A::DropTrigger { table_name, .. }
        | A::Insert { table_name }
        | A::Read { table_name, .. }
        | A::Update { table_name, .. }
        | A::AlterTable { table_name, .. }
        | A::Analyze { table_name } => Some(table_name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the guard of texts would have refused, if it had seen it.
    #[test]
    fn the_database_refuses_what_slips_through_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Arc::new(AtomicBool::new(true));
        let file = folder.path().join("a.db");
        let connection = open(&file, Access::Create, 1 << 20, ours.clone()).unwrap();
        connection
            .execute_batch("CREATE TABLE pawl_applied (effect_key TEXT); CREATE TABLE t (a)")
            .unwrap();
        ours.store(false, Ordering::Relaxed);
        for text in [
            "BEGIN",
            "COMMIT",
            "SAVEPOINT a",
            "PRAGMA journal_mode = OFF",
            "SELECT * FROM pragma_table_info('t')",
            "ATTACH ':memory:' AS x",
            "VACUUM INTO '/tmp/x'",
            "SELECT load_extension('x')",
            "SELECT * FROM pawl_applied",
            "DELETE FROM \"pawl_applied\"",
            "INSERT INTO pawl_applied VALUES ('x')",
            "UPDATE pawl_applied SET effect_key = 'x'",
            "DROP TABLE pawl_applied",
            "ALTER TABLE pawl_applied RENAME TO x",
            "CREATE INDEX i ON pawl_applied (effect_key)",
            "CREATE TEMP TABLE x (a)",
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE x USING fts5(a)",
            "UPDATE sqlite_master SET sql = ''",
        ] {
            assert!(connection.execute_batch(text).is_err(), "{text}");
        }
        for text in [
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE u (a)",
            "ALTER TABLE u ADD COLUMN b",
            "DROP TABLE u",
            "CREATE INDEX i ON t (a)",
        ] {
            connection.execute_batch(text).unwrap();
        }
    }
}
