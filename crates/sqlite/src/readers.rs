//! A few connections that can only read, each on a thread of its own. They see everything that was committed
//! before they began, and never hold up the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pawl_kernel::ports::store::{StoreError, StoreResult};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{Semaphore, oneshot};

use crate::deadline;
use crate::fault::{Fault, JobResult};

const READS_WAITING_MAX: usize = 4_096;

pub(crate) struct Readers {
    sender: Sender<ReaderMessage>,
    permits: Semaphore,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type Read = Box<dyn FnOnce(&mut Connection) + Send>;

enum ReaderMessage {
    Read(Read),
    Close,
}

impl Readers {
    /// A statement with a deadline may take as long as `limit`.
    pub(crate) fn start(connections: Vec<Connection>, limit: Duration) -> std::io::Result<Self> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::new();
        for connection in connections {
            let receiver = Arc::clone(&receiver);
            let builder = std::thread::Builder::new().name("sqlite-reader".into());
            threads.push(builder.spawn(move || serve(connection, limit, &receiver))?);
        }
        Ok(Self {
            sender,
            permits: Semaphore::new(READS_WAITING_MAX),
            threads: Mutex::new(threads),
        })
    }

    pub(crate) async fn run<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> JobResult<T> + Send + 'static,
    {
        let _permit = self.permits.acquire().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        // Lives as long as this future.
        let here = Arc::new(());
        let caller = Arc::downgrade(&here);
        let read = Box::new(move |connection: &mut Connection| {
            if deadline::is_gone(&caller) {
                return;
            }
            deadline::read_for(caller);
            // No caller waits any more if it was cancelled.
            let _ = reply.send(guarded(connection, work));
        });
        self.sender
            .send(ReaderMessage::Read(read))
            .map_err(|_| closed())?;
        let answer = answer.await.unwrap_or_else(|_| Err(closed()));
        drop(here);
        answer
    }

    /// Like [`Readers::run`], with all statements of `work` seeing the database at one moment.
    pub(crate) async fn run_at_once<T, F>(&self, work: F) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> JobResult<T> + Send + 'static,
    {
        self.run(move |connection| {
            let transaction =
                Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
        .await
    }

    pub(crate) fn close(&self) {
        self.permits.close();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for _ in &threads {
            // An error means that the threads have ended already.
            let _ = self.sender.send(ReaderMessage::Close);
        }
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a reader thread of the store died");
            }
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

fn guarded<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> JobResult<T>,
) -> StoreResult<T> {
    let panicked = || Fault::Rejected("a bug in Pawl: the store panicked on this".into());
    let done =
        catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or_else(|_| Err(panicked()));
    // After a panic the transaction may be open, and every later read on this thread would see its old moment.
    if !connection.is_autocommit()
        && let Err(error) = connection.execute_batch("ROLLBACK")
    {
        tracing::error!(%error, "a reader could not end its transaction");
    }
    done.map_err(|fault| fault.before_commit())
}

fn serve(mut connection: Connection, limit: Duration, receiver: &Mutex<Receiver<ReaderMessage>>) {
    if let Err(error) = deadline::install(&mut connection, limit) {
        tracing::error!(%error, "reads of this thread have no deadline");
    }
    while let Some(read) = next(receiver) {
        read(&mut connection);
    }
}

fn next(receiver: &Mutex<Receiver<ReaderMessage>>) -> Option<Read> {
    let message = receiver
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .recv();
    match message {
        Ok(ReaderMessage::Read(read)) => Some(read),
        Ok(ReaderMessage::Close) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    fn readers() -> Readers {
        let connection = Connection::open_in_memory().unwrap();
        Readers::start(vec![connection], Duration::MAX).unwrap()
    }

    async fn ask(readers: &Readers, text: &'static str) -> StoreResult<i64> {
        let read = readers.run(move |connection| {
            let found = connection.query_row(text, [], |row| row.get(0))?;
            Ok(found)
        });
        read.await
    }

    #[tokio::test]
    async fn a_read_ends_when_its_caller_is_gone() {
        let readers = readers();
        let wait = Duration::from_millis(100);
        let given_up = tokio::time::timeout(wait, ask(&readers, ENDLESS)).await;
        assert!(given_up.is_err());
        assert_eq!(ask(&readers, "SELECT 7").await.unwrap(), 7);
        readers.close();
    }
}
