//! The embedded store: SQLite in one folder, for one process.
//!
//! Reading order: [`SqliteStore::open`] here, `writer` (one thread, group commit), `readers`, `changes` (how a
//! decision of the kernel becomes rows), then one module per role of the store: `executions`, `recovery`,
//! `timers`, `schedule`, `catalog`, `queries`, `keys`, `letters`. [`EmbeddedQueue`] is the queue that goes with it.
//!
//! Promises: what was answered is on disk; jobs that fail, fail alone; no rule of the protocol lives here.

pub mod baseline;
mod catalog;
mod changes;
mod connection;
mod deadline;
mod deferred;
mod editor;
mod executions;
mod fault;
mod folder;
mod history;
mod hot;
mod keys;
mod letters;
mod lists;
mod migrations;
mod overview;
mod queries;
mod queue;
mod quotas;
mod readers;
mod recovery;
mod retention;
mod rows;
mod schedule;
mod sessions;
mod sql;
mod timers;
mod transaction;
mod webhooks;
mod workers;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use folder::{LockError, is_open_to_others};
pub use migrations::MigrationError;
use pawl_kernel::ports::batches::BatchSizes;
pub use queue::{CAPACITY, EmbeddedQueue};
use rusqlite::{Connection, ErrorCode};

use crate::folder::FolderLock;
use crate::readers::Readers;
use crate::writer::Writer;

/// Older libraries can lose commits when a checkpoint and a writer collide (fixed in 3.51.3).
const OLDEST_LIBRARY: i32 = 3_051_003;

#[derive(Clone, Debug)]
pub struct Options {
    /// New timers are spread over this many shards. Shards of an earlier, larger number stay in use.
    pub timer_shards: u32,
    /// Connections for reading, each with a thread.
    pub readers: u32,
    /// A statement of a list, a count or statistics is given up after this time.
    pub statement_time: Duration,
    /// The file grows no larger than this many pages of 4 KiB.
    pub max_pages: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timer_shards: 16,
            readers: 3,
            statement_time: Duration::from_secs(10),
            max_pages: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(
        "{path} is no database of Pawl or is damaged; restore it from a backup, or move it away to start empty"
    )]
    NotADatabase { path: PathBuf },
    #[error(
        "cannot write to {path}: {reason}; Pawl needs a folder on a local disk that its user can write to"
    )]
    NotWritable { path: PathBuf, reason: String },
    #[error("{path}: {source}")]
    Migration {
        path: PathBuf,
        source: MigrationError,
    },
    #[error(
        "the SQLite library is {0}, but versions before 3.51.3 can lose data; build Pawl with its own"
    )]
    LibraryTooOld(&'static str),
    #[error("cannot open {path}: {source}")]
    Database {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("cannot start a thread for the store: {0}")]
    Thread(std::io::Error),
}

/// All roles of the store on one SQLite file.
pub struct SqliteStore {
    writer: Writer,
    readers: Readers,
    file: PathBuf,
    shards: u32,
    /// Let go last: fields are dropped in this order.
    _lock: FolderLock,
}

impl SqliteStore {
    /// Opens or creates the database in `folder`, which this process then has for itself.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST_LIBRARY {
            return Err(OpenError::LibraryTooOld(rusqlite::version()));
        }
        let lock = FolderLock::take(folder)?;
        let file = folder.join("pawl.db");
        folder::check_header(&file)?;
        folder::make_private(&file)?;
        let mut writer = connection::writer(&file, &options).map_err(|e| explain(&file, e))?;
        migrations::apply(&mut writer).map_err(|error| explain_migration(&file, error))?;
        prepare_shards(&writer, options.timer_shards).map_err(|e| explain(&file, e))?;
        let readers: Vec<Connection> = (0..options.readers.max(1))
            .map(|_| connection::reader(&file))
            .collect::<Result<_, _>>()
            .map_err(|error| explain(&file, error))?;
        Ok(Self {
            writer: Writer::start(writer).map_err(OpenError::Thread)?,
            readers: Readers::start(readers, options.statement_time).map_err(OpenError::Thread)?,
            file,
            shards: options.timer_shards.max(1),
            _lock: lock,
        })
    }

    /// How many jobs of the writer shared a transaction.
    pub fn batches(&self) -> Arc<BatchSizes> {
        self.writer.batches()
    }

    /// Finishes what is under way, folds the log into the database and ends the threads. The folder stays
    /// locked until the store is dropped; whatever is asked after this is answered with an error.
    pub fn close(&self) {
        self.readers.close();
        self.writer.close();
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.close();
    }
}

/// The folder's lock proves that no other process is alive: what an earlier one had locked is free.
fn prepare_shards(connection: &Connection, shards: u32) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for shard in 0..shards.max(1) {
        transaction.execute(sql::SHARD_ADD, [shard])?;
    }
    transaction.execute(sql::SHARDS_UNLOCK_ALL, [])?;
    transaction.commit()
}

fn wal_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn explain_migration(file: &Path, error: MigrationError) -> OpenError {
    match error {
        MigrationError::Failed(error) => explain(file, error),
        source => OpenError::Migration {
            path: file.to_owned(),
            source,
        },
    }
}

fn explain(file: &Path, error: rusqlite::Error) -> OpenError {
    let path = file.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::NotADatabase { path }
        }
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::DiskFull,
        ) => OpenError::NotWritable {
            path,
            reason: error.to_string(),
        },
        _ => OpenError::Database {
            path,
            source: error,
        },
    }
}
