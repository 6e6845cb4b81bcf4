//! The store: one verb, one transaction. Roles are separate traits, so that a service sees only what it needs.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::execution::{
    DebugMode, Execution, Lease, LogRecord, PriorityClass, Signal, State, Status, Step,
};
use crate::id::{ExecutionId, SchemaId};
use crate::lifecycle::{ClaimRequest, Command, CommitRefusal, Refusal, Release, Skip};
use crate::ports::keys::KeyStore;
use crate::ports::letters::LetterStore;
use crate::ports::quotas::QuotaStore;
use crate::ports::retention::RetentionStore;
use crate::ports::schedule::ScheduleStore;
use crate::ports::webhooks::WebhookStore;
use crate::ports::workers::WorkerStore;
use crate::schema::definition::OnStuck;
use crate::time::Timestamp;
use crate::transition::{Applied, Snapshot, Transition, WaitTimer};

/// The variant tells the caller what to do next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written: try again later.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// It may have happened: read before doing it again.
    #[error("the store did not say whether it happened: {0}")]
    Unknown(String),
    /// This write can never succeed.
    #[error("the store refuses this: {0}")]
    Rejected(String),
    /// What is stored makes no sense: stop and shout.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
}

pub type StoreResult<T> = Result<T, StoreError>;

/// An execution to be created, with everything its two rows need.
#[derive(Clone, Debug)]
pub struct NewExecution {
    pub execution: Execution,
    pub state: State,
    /// The context it starts from, for forks and retries.
    pub snapshot: Option<Snapshot>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// No quota concerns it, or none yet.
    New,
    /// New, and it holds a place in its quotas.
    Admitted,
    /// New, and it stands in line for a quota: nobody may run it yet.
    InLine,
    /// The idempotency key was seen before: this is the execution it made.
    Existing(ExecutionId),
}

#[derive(Clone, Debug)]
pub enum Claim {
    Taken(Box<Claimed>),
    /// The claim ended it (too many recoveries, or a stop that nobody had applied).
    Ended(Applied),
    Skipped(Skip),
}

#[derive(Clone, Debug)]
pub struct Claimed {
    pub execution: Execution,
    pub state: State,
}

/// What decides a commit whose result is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub seq: u64,
    pub commit_id: Option<Uuid>,
    pub lease_token: Option<Uuid>,
    pub applied: Applied,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    #[error("refused: {0:?}")]
    Refused(CommitRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The step protocol.
#[async_trait]
pub trait ExecutionStore: Send + Sync {
    /// Durable when it returns. A wait it is born with gets its timer row in the same transaction.
    async fn create(&self, new: NewExecution) -> StoreResult<Created>;

    /// An execution born with its lease, and the first transition of its holder. It has no idempotency key, no quotas
    /// and no snapshot. After any error but `Unknown` neither of the two is there.
    async fn create_and_commit(
        &self,
        new: Arc<NewExecution>,
        first: Transition,
    ) -> Result<Applied, CommitError> {
        self.create(Arc::unwrap_or_clone(new)).await?;
        let unknown = |error: CommitError| StoreError::Unknown(error.to_string());
        Ok(self.commit(first).await.map_err(unknown)?)
    }

    /// Takes leases for many messages in one transaction; answers in the order asked.
    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>>;

    async fn commit(&self, transition: Transition) -> Result<Applied, CommitError>;

    /// Reads what [`ExecutionStore::commit`] left, when its result is unknown.
    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>>;

    /// Gives leases back.
    async fn release(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        how: Release,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>>;

    /// Extends leases; returns the rows that are still ours, with what people asked of them.
    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>>;

    async fn command(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> Result<CommandApplied, CommandError>;

    /// Signals that no step has taken yet, in order of arrival, with the inbox count they belong to.
    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)>;

    /// The newest snapshot at or before `seq`, and the steps after it up to `seq`.
    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History>;
}

#[derive(Clone, Debug, Default)]
pub struct History {
    pub snapshot: Option<Snapshot>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub execution_id: ExecutionId,
    pub token: Uuid,
    pub stop_requested: bool,
    /// How long the lease lasts by what is stored: a row that was locked just now has not been renewed.
    pub until: Timestamp,
}

/// An execution that needs a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    pub execution_id: ExecutionId,
    pub schema_id: SchemaId,
    /// The node it stands at.
    pub node_id: Arc<str>,
    pub seq: u64,
    pub debug_mode: bool,
    pub priority: crate::execution::PriorityClass,
}

impl Dispatch {
    pub fn of(execution: &Execution, state: &State) -> Self {
        Self {
            execution_id: execution.id,
            schema_id: execution.schema_id,
            node_id: state.position.node_id.clone(),
            seq: state.seq,
            debug_mode: state.debug != DebugMode::Off,
            priority: execution.priority,
        }
    }
}

#[derive(Clone, Debug)]
pub struct CommandApplied {
    /// `None`: it was so already.
    pub applied: Option<Applied>,
    pub dispatch: Option<Dispatch>,
    pub status: Status,
    /// A worker holds the lease and has yet to notice.
    pub leased: bool,
}

/// Bringing back what was lost.
#[async_trait]
pub trait RecoveryStore: Send + Sync {
    /// Clears every lease: only while no other process can be running on this store. Returns how many.
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64>;

    /// Executions whose lease has run out by `now`.
    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Expired>>;

    /// Takes one such lease away. `None`: somebody was faster, or the holder came back.
    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<Reaped>>;

    /// Executions that [are due](SweepRequest::is_due); their next sweep is put off by `back_off`, doubled each time. In id order after `after`; the page ends at `limit` rows read.
    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep>;
}

#[derive(Clone, Debug)]
pub struct SweepRequest {
    pub now: Timestamp,
    /// By class, in the order of [`PriorityClass::ALL`].
    pub idle_since: [Timestamp; 3],
    pub back_off: Duration,
    pub after: Option<ExecutionId>,
    pub limit: u32,
}

impl SweepRequest {
    /// It could run, has had no lease for long enough, and its next sweep is due.
    pub fn is_due(&self, execution: &Execution, state: &State) -> bool {
        let classes = PriorityClass::ALL.iter().zip(&self.idle_since);
        let mut of_class = classes.filter(|(class, _)| **class == execution.priority);
        let Some((_, idle_since)) = of_class.next() else {
            return false;
        };
        let lease = state.lease.as_ref();
        !execution.status.is_terminal()
            && state.is_runnable()
            && state.updated_at <= *idle_since
            && lease.is_none_or(|lease| lease.until <= *idle_since)
            && state.next_sweep_at.is_none_or(|at| at <= self.now)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Sweep {
    pub due: Vec<Dispatch>,
    /// Executions of a status that can run, due or not.
    pub looked_at: u32,
    /// Where the next page starts; `None`: the end was reached.
    pub next: Option<ExecutionId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    pub execution_id: ExecutionId,
    pub schema_id: SchemaId,
    pub schema_version: u32,
}

#[derive(Clone, Debug)]
pub struct Reaped {
    pub applied: Applied,
    pub dispatch: Option<Dispatch>,
}

/// Waits and their wake-ups, in the four tables of the timers.
#[async_trait]
pub trait TimerStore: Send + Sync {
    /// Takes [free](LockRequest::is_free) shard locks, those longest unserved first, at most `max`.
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>>;

    /// Heartbeats all shards locked under the guid; tells which those are, and of the others what decides on their share.
    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<Kept>;

    /// Gives back the locks under `guid`: all, or only these.
    async fn unlock_shards(
        &self,
        guid: Uuid,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()>;

    /// Moves incoming rows of these shards to the processing queue; returns those that were moved.
    async fn collect(
        &self,
        guid: Uuid,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>>;

    /// Timers of these shards due within this time, soonest first.
    async fn upcoming(
        &self,
        shards: &[u32],
        due: Range<Timestamp>,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>>;

    /// When the next timer of these shards is due.
    async fn next_due(&self, shards: &[u32]) -> StoreResult<Option<Timestamp>>;

    /// Adds rows for waits that have none: the doctor's repair. (Commits add theirs themselves.)
    async fn register_timers(&self, timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()>;

    /// Ends the waits of these timers and deletes their rows, in one transaction guarded by the shard lock.
    /// Stale rows are deleted without effect.
    async fn fire(
        &self,
        guid: Uuid,
        timers: Vec<DueTimer>,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>>;
}

#[derive(Clone, Debug)]
pub struct LockRequest {
    pub guid: Uuid,
    pub owner: String,
    pub now: Timestamp,
    /// Of those that somebody has: not heard of since then.
    pub stale_before: Timestamp,
    /// Of those that nobody has: given back by then, or never taken. `None`: any.
    pub unlocked_by: Option<Timestamp>,
    pub max: u32,
}

impl LockRequest {
    pub fn is_free(&self, locked: bool, heartbeat_at: Option<Timestamp>) -> bool {
        let Some(at) = heartbeat_at else { return true };
        match locked {
            true => at < self.stale_before,
            false => self.unlocked_by.is_none_or(|by| at <= by),
        }
    }
}

#[derive(Clone, Debug)]
pub struct KeepRequest {
    pub guid: Uuid,
    /// The worker who asks.
    pub owner: String,
    pub now: Timestamp,
    /// Workers that reported themselves since then are alive.
    pub alive_since: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Still ours, in order.
    pub shards: Vec<u32>,
    pub around: ShardsAround,
}

/// What decides on how many shards a worker should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardsAround {
    /// Locks there are, whoever has them.
    pub locks: u32,
    /// Other workers that are alive and fire timers.
    pub others: u32,
    /// The most that one other has.
    pub most_of_another: u32,
    /// Since when the lock lies there that nobody has for longest; the beginning of time if nobody ever had it.
    pub unlocked_since: Option<Timestamp>,
    /// When the other was last heard of who has been silent for longest.
    pub silent_since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueTimer {
    pub at: Timestamp,
    pub shard_id: u32,
    /// The id of an execution that waits, as text, or that of a scheduled action.
    pub action_id: String,
    pub guid: Uuid,
}

/// Schemas and their versions.
#[async_trait]
pub trait CatalogStore: Send + Sync {
    /// Adds a schema or a version of it. The content of a version never changes.
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError>;

    /// By id, or by name if `key` is no id. Deleted schemas are not found.
    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>>;

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>>;

    /// Newest first.
    async fn versions(&self, id: SchemaId) -> StoreResult<Vec<VersionRecord>>;

    /// Also of a deleted schema: open executions keep their pinned version.
    async fn version(&self, id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>>;

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool>;

    /// Hides it; versions stay for the executions that use them.
    async fn delete_schema(&self, id: SchemaId, now: Timestamp) -> StoreResult<bool>;
}

#[derive(Clone, Debug)]
pub struct SaveSchema {
    /// Used if the schema is new.
    pub id: SchemaId,
    pub name: String,
    pub description: Option<String>,
    pub definition: String,
    pub hash: String,
    pub created_by: String,
    pub now: Timestamp,
    pub mode: SaveMode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveMode {
    /// The name must be free.
    Create,
    /// A new version of this schema; refused if its latest version is not `if_version`. The same content as the
    /// latest version makes no new one.
    Update {
        id: SchemaId,
        if_version: Option<u32>,
    },
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    #[error("a schema named `{0}` exists already")]
    NameTaken(String),
    #[error("there is no such schema")]
    NotFound,
    /// Another schema takes these requests.
    #[error("`{method} {path}` is a webhook of the schema `{schema}` already")]
    PathTaken {
        method: &'static str,
        path: String,
        schema: String,
    },
    #[error("the latest version is {latest}, not {expected}")]
    VersionConflict { latest: u32, expected: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SchemaRecord {
    pub id: SchemaId,
    pub name: String,
    pub description: Option<String>,
    pub active: bool,
    pub latest_version: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct VersionRecord {
    pub schema_id: SchemaId,
    pub version: u32,
    pub language: u32,
    pub hash: String,
    pub definition: String,
    pub created_by: String,
    pub created_at: Timestamp,
}

/// Lists and details for API, CLI and UI. Reads only.
#[async_trait]
pub trait QueryStore: Send + Sync {
    async fn execution(&self, id: ExecutionId) -> StoreResult<Option<ExecutionView>>;

    /// Newest first; `before` is the id the last page ended with.
    async fn executions(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>>;

    async fn count_executions(&self, filter: ExecutionFilter) -> StoreResult<u64>;

    /// In order of seq, after `after_seq`, each with the version of the commit that wrote it.
    async fn steps(
        &self,
        id: ExecutionId,
        after_seq: u64,
        limit: u32,
    ) -> StoreResult<Vec<(Step, u64)>>;

    /// In order, after the log line numbered `after`.
    async fn logs(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, LogRecord)>>;

    async fn signals(&self, id: ExecutionId) -> StoreResult<Vec<Signal>>;

    /// Open executions in id order, for the doctor.
    async fn open_executions(
        &self,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>>;

    /// Which of these waits have a timer row under their current id.
    async fn timer_shards(&self, waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>>;

    /// The execution that was started under this idempotency key.
    async fn execution_by_key(&self, key: &str) -> StoreResult<Option<ExecutionId>>;

    /// Facts about the store for the doctor: name, version, size.
    async fn about(&self) -> StoreResult<Vec<(String, String)>>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionView {
    pub execution: Execution,
    pub state: State,
    pub schema_name: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionFilter {
    pub statuses: Vec<Status>,
    pub schema_id: Option<SchemaId>,
    pub tenant: Option<String>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    /// Found in id, correlation id, idempotency key, creator, labels or error.
    pub text: Option<String>,
}

/// All roles together.
pub trait Store:
    ExecutionStore
    + RecoveryStore
    + TimerStore
    + ScheduleStore
    + CatalogStore
    + QueryStore
    + KeyStore
    + LetterStore
    + WebhookStore
    + WorkerStore
    + QuotaStore
    + RetentionStore
{
}

impl<T> Store for T where
    T: ExecutionStore
        + RecoveryStore
        + TimerStore
        + ScheduleStore
        + CatalogStore
        + QueryStore
        + KeyStore
        + LetterStore
        + WebhookStore
        + WorkerStore
        + QuotaStore
        + RetentionStore
{
}

/// A lease as a worker asks for it.
pub fn lease(owner: &str, token: Uuid, until: Timestamp) -> Lease {
    Lease {
        owner: owner.to_owned(),
        token,
        until,
    }
}
