//! Opening a file, and what statements on it may not do.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::functions::{StopFlag, replace_slow_ones};
use crate::guard::APPLIED;

const STATEMENTS_CACHED: usize = 200;
/// For the settings below; afterwards waiting is done by the session, which knows the deadline.
const OPENING_BUSY: Duration = Duration::from_secs(2);
/// A value, and a row of a table, may have this part of `max_bytes`. Instructions in a row are not interrupted until there
/// is a jump, and each may make such a value.
const VALUE_PART: usize = 4;
/// But always as much as this: our own results are values too.
const VALUE_BYTES_LEAST: usize = 1 << 20;
/// What the parser and the functions of SQLite do by calling themselves must fit the stack of a thread, and what one
/// instruction does cannot be interrupted. All of them are far above what people write.
const LIMITS: [(Limit, i32); 8] = [
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_COLUMN, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_PARSER_DEPTH, 500),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 50),
];
/// Code of others; and what goes through one text for every part of another, or makes a large one for every bracket of a
/// small one, in one instruction.
const REFUSED_FUNCTIONS: [&str; 4] = ["load_extension", "json_patch", "jsonb_patch", "json_pretty"];

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
    max_bytes: usize,
    ours: Arc<AtomicBool>,
    obeyed: &StopFlag,
) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if access == Access::Create {
        make_private(file);
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
    let bytes = (max_bytes / VALUE_PART).max(VALUE_BYTES_LEAST);
    replace_slow_ones(&connection, obeyed, bytes)?;
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.busy_timeout(Duration::ZERO)?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        if ours.load(Ordering::Relaxed) || is_allowed(&context) {
            Authorization::Allow
        } else {
            Authorization::Deny
        }
    }))?;
    Ok(connection)
}

/// Makes the file before SQLite would with rights of its own: what is made here is for its owner only, and its log and index
/// get the rights of the file. One that is there keeps its rights; of one that cannot be made SQLite says why.
fn make_private(file: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(file);
}

/// The second line behind the guard of texts: transactions, settings, other files, things that stay with a connection,
/// and our own table.
fn is_allowed(context: &AuthContext<'_>) -> bool {
    use AuthAction as A;
    if changes_temp(context) {
        return false;
    }
    match &context.action {
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
        A::Function { function_name } => !REFUSED_FUNCTIONS
            .iter()
            .any(|refused| function_name.eq_ignore_ascii_case(refused)),
        other => !table(other).is_some_and(|name| name.eq_ignore_ascii_case(APPLIED)),
    }
}

/// `CREATE TABLE temp.x` is reported as `CreateTable`, not as `CreateTempTable`. To read is harmless, and `ALTER TABLE`
/// has a look into the temporary schema, where it renames what is not there.
fn changes_temp(context: &AuthContext<'_>) -> bool {
    use AuthAction as A;
    let is_temp = |name: &str| name.eq_ignore_ascii_case("temp");
    match context.action {
        A::Select | A::Read { .. } | A::Function { .. } | A::Recursive => false,
        A::Update {
            table_name: "sqlite_temp_master",
            ..
        } => false,
        A::AlterTable { database_name, .. } => is_temp(database_name),
        _ => context.database_name.is_some_and(is_temp),
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
    use std::time::Instant;

    use super::*;
    use crate::sqlite::stop::Stop;

    /// What the guard of texts would have refused, if it had seen it.
    #[test]
    fn the_database_refuses_what_slips_through_the_guard() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Arc::new(AtomicBool::new(true));
        let file = folder.path().join("a.db");
        let obeyed = StopFlag::new(Stop::new(Instant::now(), usize::MAX));
        let connection = open(&file, Access::Create, 1 << 20, ours.clone(), &obeyed).unwrap();
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
            "CREATE TABLE temp.x (a)",
            "CREATE TABLE \"TEMP\".x AS SELECT * FROM t",
            "CREATE VIEW temp.x AS SELECT 1",
            "CREATE INDEX temp.x ON t (a)",
            "INSERT INTO temp.sqlite_master VALUES (1, 2, 3, 4, 5)",
            "UPDATE temp.sqlite_master SET sql = ''",
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE x USING fts5(a)",
            "UPDATE sqlite_master SET sql = ''",
            "SELECT json_patch('{}', '{}')",
            "SELECT json_pretty('[]')",
        ] {
            assert!(connection.execute_batch(text).is_err(), "{text}");
        }
        for text in [
            "INSERT INTO t VALUES (1)",
            "CREATE TABLE u (a)",
            "ALTER TABLE u ADD COLUMN b",
            "ALTER TABLE u RENAME COLUMN b TO c",
            "ALTER TABLE u RENAME TO w",
            "ALTER TABLE w DROP COLUMN c",
            "DROP TABLE w",
            "CREATE INDEX i ON t (a)",
        ] {
            connection.execute_batch(text).unwrap();
        }
    }
}
