//! Connections and their settings.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::Options;

/// How long to wait for a program other than Pawl (a backup, a shell) that holds the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Tidying up is not worth waiting for.
const TIDY_TIMEOUT: Duration = Duration::from_millis(100);
const WRITER_CACHE_KIB: i64 = 16 * 1024;
const READER_CACHE_KIB: i64 = 2 * 1024;
/// The log is folded into the database at this size, and cut back to the next size after a burst.
const CHECKPOINT_PAGES: i64 = 4_000;
const WAL_KEPT_BYTES: i64 = 32 * 1024 * 1024;
const VACUUM_STEP_PAGES: u32 = 256;
const AUTO_VACUUM_INCREMENTAL: i64 = 2;
const STATEMENTS_CACHED: usize = 128;

pub(crate) fn writer(file: &Path, options: &Options) -> rusqlite::Result<Connection> {
    let connection = open(file, WRITER_CACHE_KIB)?;
    set_auto_vacuum(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Anything less may lose acknowledged commits at a power cut.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_KEPT_BYTES)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(connection)
}

/// Must come before the first table. Set again it would change nothing, but write to the file.
fn set_auto_vacuum(connection: &Connection) -> rusqlite::Result<()> {
    let current: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if current == AUTO_VACUUM_INCREMENTAL {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", AUTO_VACUUM_INCREMENTAL)
}

pub(crate) fn reader(file: &Path) -> rusqlite::Result<Connection> {
    let connection = open(file, READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(file: &Path, cache_kib: i64) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Without this, statements are compiled again whenever a parameter changes that a partial index might depend
    // on: without it more than half of the samples of a whole run went there.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Once after a burst of writes: gives some free pages back and empties the log.
pub(crate) fn tidy(connection: &Connection) {
    let result = connection
        .busy_timeout(TIDY_TIMEOUT)
        .and_then(|()| vacuum_step(connection, VACUUM_STEP_PAGES))
        .and_then(|()| checkpoint(connection));
    // Nothing is lost if that failed: the log is just longer until the next time.
    if let Err(error) = result.and(connection.busy_timeout(BUSY_TIMEOUT)) {
        tracing::warn!(%error, "tidying up the database failed");
    }
}

/// Gives up to so many free pages back. A database that was made without this mode keeps its pages for later rows.
pub(crate) fn vacuum_step(connection: &Connection, pages: u32) -> rusqlite::Result<()> {
    connection.pragma(None, "incremental_vacuum", pages, |_| Ok(()))
}

/// Pages of the file that hold nothing.
pub(crate) fn free_pages(connection: &Connection) -> rusqlite::Result<u64> {
    let pages: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(pages.unsigned_abs())
}

pub(crate) fn page_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let bytes: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(bytes.unsigned_abs())
}

/// A reader in the way is no error: the log stays and is emptied the next time.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
}

pub(crate) fn shut(connection: Connection) {
    let result = checkpoint(&connection).and_then(|()| connection.close().map_err(|(_, e)| e));
    if let Err(error) = result {
        tracing::warn!(%error, "closing the database failed");
    }
}
