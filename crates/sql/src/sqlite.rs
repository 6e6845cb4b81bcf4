//! Transactions on SQLite files. Each runs on a thread that may block, with a connection of its own: one writes at a
//! time, several read.

mod fault;
mod functions;
mod memory;
mod open;
mod session;
mod stop;
mod values;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use pawl_kernel::node::NodeError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{Fault, busy, in_doubt, late, unreachable};
use crate::results::Budget;
use crate::retry::Tries;
use crate::settings::Settings;
use crate::transaction::{TransactionReport, Work, carry_out};
use fault::breaks_connection;
use functions::StopFlag;
use open::{Access, open};
use session::{FileConnection, Identity};
use stop::{CancelOnDrop, Stop};

const PREPARE: &str = include_str!("../sql/sqlite/prepare.sql");
const FORGET: &str = include_str!("../sql/sqlite/forget.sql");
const OLD: &str = include_str!("../sql/sqlite/old.sql");
const STORE: &str = include_str!("../sql/sqlite/store.sql");
/// For a thread to notice that it is to stop; the caller does not wait longer.
const GRACE: Duration = Duration::from_millis(250);
/// For a commit that has begun: the disk may be slow.
const COMMIT_GRACE: Duration = Duration::from_millis(250);
const UPKEEP_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Sqlite {
    name: Arc<str>,
    file: PathBuf,
    settings: Settings,
    writers: Lane,
    readers: Lane,
}

/// Connections of one kind, and how many of them may be in use.
struct Lane {
    places: Arc<Semaphore>,
    idle: Mutex<Vec<FileConnection>>,
}

impl Lane {
    fn new(size: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(size.max(1))),
            idle: Mutex::default(),
        }
    }

    fn take(&self) -> Option<FileConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn put(&self, connection: FileConnection) {
        if self.places.is_closed() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(connection);
    }

    fn close(&self) {
        self.places.close();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.clear();
    }
}

/// A file that was removed or replaced lives on in open connections: what they write would be lost.
fn file_identity(file: &Path) -> Option<Identity> {
    let found = std::fs::metadata(file).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        Some((u64::from(found.is_file()), 0))
    }
}

impl Sqlite {
    pub(crate) fn new(name: &str, file: PathBuf, settings: Settings) -> Self {
        Self {
            name: name.into(),
            file,
            writers: Lane::new(1),
            readers: Lane::new(settings.pool_size),
            settings,
        }
    }

    fn lane(&self, access: Access) -> &Lane {
        match access {
            Access::Read => &self.readers,
            Access::Write | Access::Create => &self.writers,
        }
    }

    pub(crate) async fn run(self: &Arc<Self>, work: Work) -> Result<TransactionReport, NodeError> {
        let access = match work.plan.readonly {
            true => Access::Read,
            false => Access::Write,
        };
        let limit = work.time_limit;
        let key = work.effect_key.clone().unwrap_or_default();
        let work = Arc::new(work);
        let deadline = tokio::time::Instant::now() + limit;
        let mut tries = Tries::default();
        loop {
            let (this, work) = (self.clone(), work.clone());
            let attempt = move |connection: &mut FileConnection| this.attempt(connection, &work);
            let fault = match self.on_thread(access, deadline, limit, attempt).await {
                Ok(applied) => return Ok(applied),
                Err(fault) => fault,
            };
            let pause = tries
                .after(fault, &key, deadline)
                .map_err(|fault| *fault.error)?;
            tokio::time::sleep(pause).await;
        }
    }

    fn attempt(
        &self,
        connection: &mut FileConnection,
        work: &Work,
    ) -> Result<TransactionReport, Fault> {
        let budget = Budget::new(&self.name, self.settings.max_rows, self.settings.max_bytes);
        connection.begin(work.plan.readonly)?;
        let carried = carry_out(connection, work, &budget).now_or_never();
        let applied = carried.unwrap_or_else(|| {
            Err(NodeError::new(
                "SQL_ERROR",
                "a transaction on a file waited; this is a bug in Pawl",
            )
            .into())
        })?;
        connection.commit()?;
        Ok(applied)
    }

    /// Runs something on a connection, on a thread that may block. If the caller goes away or the time is over, it is
    /// interrupted and rolled back there.
    async fn on_thread<T: Send + 'static>(
        self: &Arc<Self>,
        access: Access,
        deadline: tokio::time::Instant,
        limit: Duration,
        work: impl FnOnce(&mut FileConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let place = self.place(access, deadline, limit).await?;
        let stop = Stop::new(deadline.into_std(), self.settings.max_bytes);
        let cancels = CancelOnDrop(stop.clone());
        let this = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let done = this.with_connection(access, stop, work);
            drop(place);
            done
        });
        let mut task = std::pin::pin!(task);
        let mut ended = tokio::time::timeout_at(deadline + GRACE, &mut task).await;
        if ended.is_err() && !cancels.0.cancel() {
            ended = tokio::time::timeout(COMMIT_GRACE, &mut task).await;
            if ended.is_err() {
                return Err(in_doubt(COMMIT_GRACE).into());
            }
        }
        match ended {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => {
                Err(NodeError::new("SQL_ERROR", format!("a task failed: {error}")).into())
            }
            Err(_) => Err(late(limit).into()),
        }
    }

    async fn place(
        &self,
        access: Access,
        deadline: tokio::time::Instant,
        limit: Duration,
    ) -> Result<OwnedSemaphorePermit, Fault> {
        // The current writer may be an earlier run of this very step: that is waited for as long as there is time.
        let until = match access {
            Access::Read => deadline.min(tokio::time::Instant::now() + self.settings.pool_timeout),
            Access::Write | Access::Create => deadline,
        };
        let waiting = self.lane(access).places.clone().acquire_owned();
        match tokio::time::timeout_at(until, waiting).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(unreachable(&self.name, "it is closed").into()),
            Err(_) if until == deadline => Err(late(limit).into()),
            Err(_) => Err(busy(&self.name, self.settings.pool_timeout).into()),
        }
    }

    fn with_connection<T>(
        &self,
        access: Access,
        stop: Arc<Stop>,
        work: impl FnOnce(&mut FileConnection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let idle = self.lane(access).take();
        let mut connection = match idle.filter(|idle| idle.is_of(file_identity(&self.file))) {
            Some(connection) => connection,
            None => self.open(access, &stop)?,
        };
        connection.obey(stop)?;
        let done = work(&mut connection);
        if connection.clean() && !done.as_ref().is_err_and(breaks_connection) {
            self.lane(access).put(connection);
        }
        done
    }

    fn open(&self, access: Access, stop: &Arc<Stop>) -> Result<FileConnection, Fault> {
        let ours = Arc::new(AtomicBool::new(false));
        let obeyed = StopFlag::new(stop.clone());
        let bytes = self.settings.max_bytes;
        let opened = open(&self.file, access, bytes, ours.clone(), &obeyed);
        let inner = opened.map_err(|error| fault::of(&error, &self.name, stop))?;
        Ok(FileConnection::new(
            inner,
            ours,
            obeyed,
            file_identity(&self.file),
            self.name.clone(),
            &self.settings,
        ))
    }

    /// Creates the file and `pawl_applied` if they are not there.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<(), NodeError> {
        self.maintain(Access::Create, |connection| connection.own(PREPARE, &[]))
            .await
            .map(drop)
    }

    /// Removes rows of steps that are recorded elsewhere.
    pub(crate) async fn forget(self: &Arc<Self>, keys: &[String]) -> Result<u64, NodeError> {
        let keys = keys.to_vec();
        let removed = self
            .maintain(Access::Write, move |connection| {
                let mut removed = 0;
                for key in &keys {
                    removed += connection.own(FORGET, &[key])?;
                }
                Ok(removed)
            })
            .await?;
        Ok(removed as u64)
    }

    /// Keys older than this, in order, after `after`.
    pub(crate) async fn old_keys(
        self: &Arc<Self>,
        after: &str,
        age: Duration,
    ) -> Result<Vec<String>, NodeError> {
        let values = [after.to_owned(), age.as_secs_f64().to_string()];
        self.maintain(Access::Write, move |connection| {
            connection.own_texts(OLD, &values)
        })
        .await
    }

    /// Is this the file of a Pawl store?
    pub(crate) async fn can_write_to_store(self: &Arc<Self>) -> Result<bool, NodeError> {
        let deadline = tokio::time::Instant::now() + UPKEEP_LIMIT;
        let tables = self.on_thread(Access::Read, deadline, UPKEEP_LIMIT, |connection| {
            connection.begin(true)?;
            connection.own_texts(STORE, &[])
        });
        let tables = tables.await.map_err(|fault| *fault.error)?;
        Ok(!tables.is_empty())
    }

    async fn maintain<T: Send + 'static>(
        self: &Arc<Self>,
        access: Access,
        work: impl FnOnce(&FileConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, NodeError> {
        let deadline = tokio::time::Instant::now() + UPKEEP_LIMIT;
        let done = self.on_thread(access, deadline, UPKEEP_LIMIT, move |connection| {
            connection.begin(false)?;
            let done = work(connection)?;
            connection.commit()?;
            Ok(done)
        });
        done.await.map_err(|fault| *fault.error)
    }

    pub(crate) fn close(&self) {
        self.writers.close();
        self.readers.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No statement of a user can make such a thing; if one ever could, others would not see it.
    #[tokio::test]
    async fn a_connection_that_something_is_left_on_is_not_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let settings = Settings::new(format!("sqlite:{}", file.display()));
        let sqlite = Arc::new(Sqlite::new("db", file, settings));
        sqlite.prepare().await.unwrap();
        for text in [
            "CREATE TEMP TABLE stock (a)",
            "CREATE VIEW temp.v AS SELECT 1",
        ] {
            let made = sqlite.maintain(Access::Write, |connection| connection.own(text, &[]));
            made.await.unwrap();
            let left = sqlite.maintain(Access::Write, |connection| {
                connection.own_texts("SELECT name FROM temp.sqlite_master", &[])
            });
            assert_eq!(left.await.unwrap(), Vec::<String>::new(), "{text}");
        }
    }
}
