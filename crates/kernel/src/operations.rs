//! Operations: what one transaction of a store reads, decides and writes. Each is written once, for all stores.
//!
//! A store knows rows. It implements [`Transaction`]: it locks and reads rows, and writes rows, each call for many rows at
//! once. Which rows to read, what follows from them and what to write is an [`Operation`]: a value that runs in a
//! transaction of any store. So a rule about several rows (what a second lease of one execution means, how long a sweep is
//! put off, who leaves a quota) stands here, next to the rules about one row in [`crate::lifecycle`].
//!
//! An operation may run more than once before it is committed: SQLite's writer repeats a batch that one bad job broke. It
//! therefore takes `&self` and acts on nothing but the transaction. What it writes of executions is not read again within
//! it: a store may keep those writes back and send them together with the commit, which saves PostgreSQL a round trip.
//!
//! The futures of the embedded stores never wait. [`finish_now`] drives them on the thread that holds the
//! transaction, so the same operations serve a writer thread and a connection to a server.

mod actions;
mod attempts;
mod claim;
mod command;
mod editor;
mod fire;
mod note;
mod quota;
mod recovery;
mod release;
mod schedule;

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;

use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::ports::store::{StoreError, StoreResult};
use crate::time::Timestamp;
use crate::transition::{Change, Decision};

pub use actions::{CommandAction, DeleteAction, PutAction};
pub use attempts::{BeginActions, RecordActions};
pub use claim::decide_claims;
pub use command::ApplyCommand;
pub use editor::{
    EditorRows, LAYOUT_BYTES_MAX, LayoutRefusal, ListPins, PIN_BYTES_MAX, PINS_BYTES_MAX, PINS_MAX,
    Pin, PinHead, PinRefusal, PutLayout, PutPin, ReadLayout, ReadPin, ReadPins, RemovePin,
    StoredLayout,
};
pub use fire::FireTimers;
pub use note::{AddNote, NOTE_BYTES_MAX, NOTES_MAX, Note, NoteRefusal, ReadNotes};
pub use quota::{
    AdmissionLook, AdmitExecutions, CheckCounts, CountExecutions, Entrance, HolderKey, LaneCount,
    LaneEntry, LaneHeads, LanePlace, MarkCounted, QuotaCounts, QuotaRows, RecountQuota,
    RemoveQuota, StoreQuota, follow_decisions,
};
pub use recovery::{ClearLeases, ReapLease, SweepExecutions};
pub use release::ReleaseLeases;
pub use schedule::{ActionContent, AttemptRecord, FreeAction, ScheduleRows, TimerKey, TimerMove};

/// Executions by id, in the order in which rows are locked and written.
pub type Subjects = BTreeMap<ExecutionId, Subject>;

/// The rows of one transaction.
#[async_trait]
pub trait Transaction: ScheduleRows + QuotaRows + EditorRows {
    /// Locks these executions in the order of their ids, and reads them. Ids without an execution are left out.
    async fn subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<Subjects>;

    /// The same without waiting for locks, and with rows that cannot be decoded set apart: for background services, which
    /// one bad row must not stop.
    async fn free_subjects(&mut self, ids: &[ExecutionId]) -> StoreResult<FreeSubjects>;

    /// Is a signal with this id stored for the execution?
    async fn has_signal(&mut self, id: ExecutionId, signal: &str) -> StoreResult<bool>;

    /// How often each of these executions was swept since its last change; none: not at all.
    async fn sweep_counts(&mut self, ids: &[ExecutionId])
    -> StoreResult<HashMap<ExecutionId, u32>>;

    /// Counts a sweep of each execution and sets the time of its next one.
    async fn put_off_sweeps(&mut self, sweeps: &[SweepDelay]) -> StoreResult<()>;

    /// The notes on an execution, oldest first.
    async fn notes(&mut self, id: ExecutionId) -> StoreResult<Vec<Note>>;

    async fn add_note(&mut self, id: ExecutionId, note: &Note) -> StoreResult<()>;

    /// Writes changes of executions that this transaction has read, with all that belongs to them and
    /// [what follows for quotas](follow_decisions).
    async fn write(&mut self, decisions: Vec<Decision>) -> StoreResult<()>;
}

/// What can be had of some executions without waiting.
#[derive(Debug, Default)]
pub struct FreeSubjects {
    pub rows: Subjects,
    /// Another transaction has them locked: they are being worked on.
    pub busy: HashSet<ExecutionId>,
    /// Their rows cannot be decoded by this version of the program; another version may.
    pub unreadable: HashSet<ExecutionId>,
}

/// When an execution is to be swept next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepDelay {
    pub execution_id: ExecutionId,
    /// Of the state that the sweeper looked at.
    pub version: u64,
    pub until: Timestamp,
}

/// What an operation does and for whom: it decides which connections of the store it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads. On SQLite all at one moment, on PostgreSQL each call sees what is committed when it is made.
    Read,
    /// It writes for a caller of the API.
    Request,
    /// It writes for the cluster itself: leases, timers, recovery. Requests never use up its connections.
    Vital,
    /// It writes, nothing waits for it, and it may take long.
    Upkeep,
}

/// What one transaction does.
#[async_trait]
pub trait Operation: Send + Sync + 'static {
    type Answer: Send + 'static;

    fn access(&self) -> Access {
        Access::Request
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer>;
}

/// An [`Operation`] whose answer can be of any type: what a store runs.
#[async_trait]
pub trait AnyOperation: Send + Sync {
    fn access(&self) -> Access;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<AnyAnswer>;
}

/// The answer of an [`AnyOperation`]; [`perform`] gives it its type back.
pub type AnyAnswer = Box<dyn Any + Send>;

#[async_trait]
impl<O: Operation> AnyOperation for O {
    fn access(&self) -> Access {
        Operation::access(self)
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<AnyAnswer> {
        let answer = Operation::run(self, rows).await?;
        Ok(Box::new(answer))
    }
}

/// A store that runs operations.
#[async_trait]
pub trait OperationStore: Send + Sync {
    /// Runs the operation in one transaction. Its writes are durable when this returns; after an error other than
    /// `Unknown` there are none.
    async fn transact(&self, operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer>;
}

/// Runs an operation and returns its answer.
pub async fn perform<O: Operation>(
    store: &(impl OperationStore + ?Sized),
    operation: O,
) -> StoreResult<O::Answer> {
    let answer = store.transact(Arc::new(operation)).await?;
    let answer = answer.downcast::<O::Answer>().map_err(|_| {
        StoreError::Corrupt("the store answered one operation with the answer of another".into())
    })?;
    Ok(*answer)
}

/// Drives a future that never waits: an operation on a store in this process.
pub fn finish_now<T>(future: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(StoreError::Corrupt(
            "an operation waited inside an embedded store".into(),
        )),
    }
}

/// What the lifecycle makes of each execution; those it leaves alone are dropped.
pub fn decide_each<F>(rows: Subjects, decide: F) -> Vec<Decision>
where
    F: Fn(&Subject) -> Option<Change>,
{
    let decided = rows.into_values().filter_map(|before| {
        let change = decide(&before)?;
        Some(Decision { before, change })
    });
    decided.collect()
}
