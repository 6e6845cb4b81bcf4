//! The rows of a new execution, held back for one job.
//!
//! A pass that runs ahead of its create sends the first transition right behind it. Rows that are inserted as that
//! transition leaves them cost half as much as rows that are inserted and updated in the same moment. So a plain create
//! with a lease does not insert its rows itself. If the next job is a commit of the same execution, it takes the rows
//! and inserts them once, as it leaves them; before any other job, and before the transaction is committed, the writer
//! inserts them as they are ([`flush`]). No job, and no reader of the file, can tell the difference; a rollback forgets
//! them like everything else ([`crate::hot::forget_all`]).

use std::cell::RefCell;
use std::sync::Arc;

use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::NewExecution;
use rusqlite::Connection;

use crate::changes;
use crate::fault::JobResult;
use crate::hot;

thread_local! {
    /// Only the writer thread runs the jobs that come here.
    static HELD: RefCell<Option<Arc<NewExecution>>> = const { RefCell::new(None) };
}

/// Two rows and nothing beside them, which nothing can be in the way of.
pub(crate) fn is_plain(new: &NewExecution) -> bool {
    new.state.lease.is_some()
        && new.state.wait.is_none()
        && new.snapshot.is_none()
        && new.edit.is_none()
        && new.execution.record.idempotency_key.is_none()
        && new.execution.record.retry_of.is_none()
        && new.execution.head.quotas.is_empty()
}

pub(crate) fn hold(new: Arc<NewExecution>) {
    HELD.set(Some(new));
}

pub(crate) fn is_held(id: ExecutionId) -> bool {
    HELD.with_borrow(|held| held.as_ref().is_some_and(|new| new.execution.head.id == id))
}

pub(crate) fn take(id: ExecutionId) -> Option<Arc<NewExecution>> {
    HELD.with_borrow_mut(|held| held.take_if(|new| new.execution.head.id == id))
}

pub(crate) fn forget() {
    HELD.set(None);
}

/// Inserts what is held.
pub(crate) fn flush(connection: &Connection) -> JobResult<()> {
    match HELD.take() {
        Some(new) => insert(connection, &new),
        None => Ok(()),
    }
}

pub(crate) fn insert(connection: &Connection, new: &NewExecution) -> JobResult<()> {
    // Without a key nothing can be in the way.
    changes::insert_rows(connection, &new.execution, &[], &new.state)?;
    hot::remember(Subject {
        head: new.execution.head.clone(),
        state: new.state.clone(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    use pawl_kernel::ports::store::{ExecutionStore, NewExecution, lease};
    use pawl_testkit::fixture::{at, commit, new_execution, uuid};

    use crate::{Options, SqliteStore};

    fn leased(n: u64) -> NewExecution {
        let mut new = new_execution(n);
        new.state.lease = Some(lease("w1", uuid(7), at(30)));
        new
    }

    async fn rows_written(store: &SqliteStore) -> u64 {
        let count = store
            .writer
            .run(|connection| Ok(connection.total_changes()));
        count.await.unwrap()
    }

    /// Rows written by what is sent while the writer is busy.
    async fn cost(store: &Arc<SqliteStore>, send: impl Future<Output = ()>) -> u64 {
        let before = rows_written(store).await;
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        let busy = store.writer.run(move |_| {
            // A second run of the same job finds the channel closed and goes on.
            let _ = held.lock().unwrap().recv();
            Ok(())
        });
        let release = async move { drop(release) };
        let (busy, (), ()) = tokio::join!(biased; busy, send, release);
        busy.unwrap();
        rows_written(store).await - before
    }

    #[tokio::test]
    async fn the_rows_of_a_create_and_its_first_commit_are_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path(), Options::default()).unwrap());
        let (one, other) = (leased(1), leased(2));
        let first = |new: &NewExecution| commit(&new.state, at(2)).steps(2).build();
        let together = cost(&store, async {
            let (created, committed) =
                tokio::join!(biased; store.create(one.clone()), store.commit(first(&one)));
            assert!(created.is_ok() && committed.unwrap().seq == 2);
        });
        assert_eq!(together.await, 4, "two rows and two steps");
        let apart = cost(&store, async {
            let created = store.create(other.clone()).await;
            assert!(created.is_ok());
        });
        assert_eq!(apart.await, 2);
        let after = cost(&store, async {
            assert_eq!(store.commit(first(&other)).await.unwrap().seq, 2);
        });
        assert!(after.await > 2, "the rows are there, and are updated");
    }
}
