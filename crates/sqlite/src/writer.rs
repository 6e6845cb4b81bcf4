//! The one writer. Jobs that wait together are committed together: one thread takes whatever is there, runs
//! it in one transaction, commits once and only then answers all callers (group commit).
//!
//! A job is a closure that can run again. If one fails, the batch is rolled back and repeated with a savepoint
//! around every job, so that only the bad one fails and the good path pays for no savepoints.
//!
//! Jobs run in the order in which they were sent. A create may leave its rows to the commit right behind it: `deferred`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::batches::BatchSizes;
use pawl_kernel::ports::store::{StoreError, StoreResult};
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::fault::{Fault, JobResult};
use crate::{connection, deferred, hot};

/// Jobs waiting or running; a caller after that waits without blocking its thread.
const JOBS_WAITING_MAX: usize = 8_192;
const BATCH_JOBS_MAX: usize = 512;
/// Bounds how long the first job of a batch waits for those that join later.
const BATCH_TIME_MAX: Duration = Duration::from_millis(20);
/// After the last write, this long until the log is folded into the database file.
const IDLE_AFTER: Duration = Duration::from_secs(2);

pub(crate) struct Writer {
    sender: Sender<WriterMessage>,
    permits: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    batches: Arc<BatchSizes>,
}

enum WriterMessage {
    Job(Box<dyn Job>),
    Close,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let batches = Arc::<BatchSizes>::default();
        let sizes = batches.clone();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || serve(connection, &receiver, &sizes))?;
        Ok(Self {
            sender,
            permits: Arc::new(Semaphore::new(JOBS_WAITING_MAX)),
            thread: Mutex::new(Some(thread)),
            batches,
        })
    }

    /// How many jobs shared a transaction.
    pub(crate) fn batches(&self) -> Arc<BatchSizes> {
        self.batches.clone()
    }

    /// Runs `work` in a transaction; returns once that is durable. `work` may run more than once, each time on
    /// a database without its own earlier writes.
    pub(crate) async fn run<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Connection) -> JobResult<T> + Send + 'static,
    {
        self.submit(None, work).await
    }

    /// The same for work that can deal with a create of this execution that was held back.
    pub(crate) async fn run_behind<T, F>(&self, create: ExecutionId, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Connection) -> JobResult<T> + Send + 'static,
    {
        self.submit(Some(create), work).await
    }

    async fn submit<T, F>(&self, behind: Option<ExecutionId>, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Connection) -> JobResult<T> + Send + 'static,
    {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let job = Box::new(TypedJob {
            behind,
            work,
            result: None,
            reply,
            _permit: permit,
        });
        self.sender
            .send(WriterMessage::Job(job))
            .map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Ends the thread after the jobs that were there before. Safe to call twice.
    pub(crate) fn close(&self) {
        self.permits.close();
        // An error means that the thread has ended already.
        let _ = self.sender.send(WriterMessage::Close);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer thread of the store died");
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

fn lost() -> StoreError {
    StoreError::Unknown("the store was closed while this was under way".into())
}

/// A job of any result type, as the thread sees it.
trait Job: Send {
    /// The execution whose create it can deal with if that was held back.
    fn behind(&self) -> Option<ExecutionId>;
    /// Does the work and keeps the result until it is known to be durable.
    fn run(&mut self, connection: &mut Connection) -> JobResult<()>;
    /// Replaces the result.
    fn fail(&mut self, error: StoreError);
    fn answer(self: Box<Self>);
}

struct TypedJob<T, F> {
    behind: Option<ExecutionId>,
    work: F,
    result: Option<StoreResult<T>>,
    reply: oneshot::Sender<StoreResult<T>>,
    _permit: OwnedSemaphorePermit,
}

impl<T, F> Job for TypedJob<T, F>
where
    T: Send,
    F: FnMut(&mut Connection) -> JobResult<T> + Send,
{
    fn behind(&self) -> Option<ExecutionId> {
        self.behind
    }

    fn run(&mut self, connection: &mut Connection) -> JobResult<()> {
        let work = AssertUnwindSafe(|| (self.work)(connection));
        let value = catch_unwind(work).unwrap_or_else(|_| Err(panicked()))?;
        self.result = Some(Ok(value));
        Ok(())
    }

    fn fail(&mut self, error: StoreError) {
        self.result = Some(Err(error));
    }

    fn answer(self: Box<Self>) {
        // No caller waits any more if it was cancelled.
        let _ = self
            .reply
            .send(self.result.unwrap_or_else(|| Err(closed())));
    }
}

fn panicked() -> Fault {
    Fault::Rejected("a bug in Pawl: the store panicked on this".into())
}

type Batch = Vec<Box<dyn Job>>;

fn serve(mut connection: Connection, receiver: &Receiver<WriterMessage>, sizes: &BatchSizes) {
    let mut written = false;
    loop {
        match next(receiver, written) {
            Ok(WriterMessage::Job(first)) => {
                let before = connection.total_changes();
                let open = serve_batch(&mut connection, first, receiver, sizes);
                written |= connection.total_changes() != before;
                if !open {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                connection::tidy(&connection);
                written = false;
            }
            Ok(WriterMessage::Close) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    refuse_the_rest(receiver);
    connection::shut(connection);
}

/// Waits with a limit only if there is something to tidy up: an idle store does not wake up.
fn next(
    receiver: &Receiver<WriterMessage>,
    written: bool,
) -> Result<WriterMessage, RecvTimeoutError> {
    if written {
        receiver.recv_timeout(IDLE_AFTER)
    } else {
        receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
    }
}

fn refuse_the_rest(receiver: &Receiver<WriterMessage>) {
    while let Ok(message) = receiver.try_recv() {
        if let WriterMessage::Job(job) = message {
            job.answer();
        }
    }
}

/// Returns false once the store is to be closed.
fn serve_batch(
    connection: &mut Connection,
    first: Box<dyn Job>,
    receiver: &Receiver<WriterMessage>,
    sizes: &BatchSizes,
) -> bool {
    let mut batch: Batch = vec![first];
    let mut open = true;
    if let Err(stop) = run_plain(connection, &mut batch, receiver, &mut open) {
        hot::forget_all();
        match stop {
            Stop::All(error) => fail_all(&mut batch, &error),
            Stop::FindTheBadOne => run_apart(connection, &mut batch),
        }
    }
    sizes.record(batch.len());
    for job in batch {
        job.answer();
    }
    open
}

/// Why a batch did not go through at once.
enum Stop {
    All(StoreError),
    FindTheBadOne,
}

fn run_plain(
    connection: &mut Connection,
    batch: &mut Batch,
    receiver: &Receiver<WriterMessage>,
    open: &mut bool,
) -> Result<(), Stop> {
    begin(connection).map_err(Stop::All)?;
    if let Err(fault) = run_jobs(connection, batch, receiver, open) {
        roll_back(connection);
        return Err(if fault.is_environmental() {
            Stop::All(fault.before_commit())
        } else {
            Stop::FindTheBadOne
        });
    }
    commit(connection).map_err(Stop::All)
}

/// One after the other, and those that come meanwhile.
fn run_jobs(
    connection: &mut Connection,
    batch: &mut Batch,
    receiver: &Receiver<WriterMessage>,
    open: &mut bool,
) -> JobResult<()> {
    let started = Instant::now();
    let mut done = 0;
    while done < batch.len() {
        let job = &mut batch[done];
        if !job.behind().is_some_and(deferred::is_held) {
            deferred::flush(connection)?;
        }
        job.run(connection)?;
        done += 1;
        if done < BATCH_JOBS_MAX && started.elapsed() < BATCH_TIME_MAX {
            join_waiting(batch, receiver, open);
        }
    }
    deferred::flush(connection)
}

/// Takes one more job if one waits.
fn join_waiting(batch: &mut Batch, receiver: &Receiver<WriterMessage>, open: &mut bool) {
    if !*open {
        return;
    }
    match receiver.try_recv() {
        Ok(WriterMessage::Job(job)) => batch.push(job),
        Ok(WriterMessage::Close) => *open = false,
        Err(_) => {}
    }
}

/// Every job in a savepoint of its own.
fn run_apart(connection: &mut Connection, batch: &mut Batch) {
    if let Err(error) = begin(connection) {
        return fail_all(batch, &error);
    }
    for index in 0..batch.len() {
        let Err(fault) = run_in_savepoint(connection, batch[index].as_mut()) else {
            continue;
        };
        hot::forget_all();
        // Some errors roll everything back: then the others cannot be saved either.
        if connection.is_autocommit() || fault.is_environmental() {
            roll_back(connection);
            return fail_all(batch, &fault.before_commit());
        }
        tracing::warn!(%fault, "a write was refused by the store");
        batch[index].fail(fault.before_commit());
    }
    if let Err(error) = commit(connection) {
        hot::forget_all();
        fail_all(batch, &error);
    }
}

fn run_in_savepoint(connection: &mut Connection, job: &mut dyn Job) -> JobResult<()> {
    connection.execute_batch("SAVEPOINT job")?;
    let done = job
        .run(connection)
        .and_then(|()| deferred::flush(connection));
    let done = done.and_then(|()| Ok(connection.execute_batch("RELEASE job")?));
    if done.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK TO job; RELEASE job")?;
    }
    done
}

/// Not a transaction of the library: that would borrow the connection, which an operation needs for itself.
fn begin(connection: &Connection) -> Result<(), StoreError> {
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    begun.map_err(|error| Fault::from(error).before_commit())
}

/// A transaction that could not be committed is rolled back.
fn commit(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch("COMMIT").map_err(|error| {
        let error = Fault::from(error).at_commit();
        tracing::error!(%error, "a commit failed");
        roll_back(connection);
        error
    })
}

/// Some errors have rolled back already.
fn roll_back(connection: &Connection) {
    if connection.is_autocommit() {
        return;
    }
    if let Err(error) = connection.execute_batch("ROLLBACK") {
        tracing::error!(%error, "a rollback failed");
    }
}

fn fail_all(batch: &mut Batch, error: &StoreError) {
    for job in batch {
        job.fail(error.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Writer {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY)")
            .unwrap();
        Writer::start(connection).unwrap()
    }

    fn insert(connection: &Connection, n: i64) -> JobResult<()> {
        connection.execute("INSERT INTO t VALUES (?1)", [n])?;
        Ok(())
    }

    async fn rows(writer: &Writer) -> Vec<i64> {
        let all = writer.run(|connection| {
            let mut statement = connection.prepare("SELECT n FROM t ORDER BY n")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        });
        all.await.unwrap()
    }

    /// Keeps the writer busy until told otherwise, so that what follows ends up in one batch.
    fn hold(writer: &Arc<Writer>) -> (Sender<()>, tokio::task::JoinHandle<StoreResult<()>>) {
        let (release, held) = channel();
        let writer = Arc::clone(writer);
        let busy = tokio::spawn(async move {
            let held = Mutex::new(held);
            writer
                .run(move |_| {
                    // A second run of the same job finds the channel closed and goes on.
                    let _ = held.lock().unwrap().recv();
                    Ok(())
                })
                .await
        });
        (release, busy)
    }

    #[tokio::test]
    async fn in_one_batch_only_the_bad_ones_fail() {
        let writer = Arc::new(writer());
        let (release, busy) = hold(&writer);
        let jobs: Vec<_> = (0..20)
            .map(|n| {
                let writer = Arc::clone(&writer);
                tokio::spawn(async move {
                    writer
                        .run(move |connection| {
                            insert(connection, n)?;
                            match n {
                                7 => insert(connection, 7),
                                11 => panic!("a bug"),
                                13 => Err(Fault::Rejected("no".into())),
                                _ => Ok(()),
                            }
                        })
                        .await
                })
            })
            .collect();
        tokio::task::yield_now().await;
        release.send(()).unwrap();
        drop(release);
        busy.await.unwrap().unwrap();
        let mut failed = Vec::new();
        for (n, job) in jobs.into_iter().enumerate() {
            if let Err(error) = job.await.unwrap() {
                assert!(matches!(error, StoreError::Rejected(_)), "{error}");
                failed.push(n);
            }
        }
        assert_eq!(failed, [7, 11, 13]);
        assert_eq!(rows(&writer).await.len(), 17);
    }

    #[tokio::test]
    async fn a_full_disk_fails_the_batch_and_the_next_one_works() {
        let writer = writer();
        writer
            .run(|connection| Ok(connection.pragma_update(None, "max_page_count", 3)?))
            .await
            .unwrap();
        let fill = |connection: &mut Connection| {
            for n in 0..10_000 {
                insert(connection, n)?;
            }
            Ok(())
        };
        let error = writer.run(fill).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(rows(&writer).await.is_empty());
        writer
            .run(|connection| Ok(connection.pragma_update(None, "max_page_count", 9_999)?))
            .await
            .unwrap();
        writer.run(fill).await.unwrap();
        assert_eq!(rows(&writer).await.len(), 10_000);
    }

    #[tokio::test]
    async fn a_closed_writer_answers() {
        let writer = writer();
        writer
            .run(|connection| insert(connection, 1))
            .await
            .unwrap();
        writer.close();
        let error = writer.run(|connection| insert(connection, 2)).await;
        assert!(matches!(error, Err(StoreError::Unavailable(_))));
        writer.close();
    }
}
