//! The store: one verb, one transaction. Roles are separate traits, so that a service sees only what it needs.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use uuid::Uuid;

use crate::execution::{
    DebugMode, Execution, Head, Lease, LogRecord, Record, Signal, State, Step, Subject,
};
use crate::id::{ExecutionId, SchemaId};
use crate::lifecycle::{ClaimRequest, CommitRefusal, Skip};
use crate::operations::OperationStore;
pub use crate::ports::catalog::{
    CatalogError, PublishVersion, PublishedFacts, SaveStep, SourceFormat, SourceText, VersionText,
};
use crate::ports::history::HistoryReads;
use crate::ports::keys::KeyStore;
use crate::ports::letters::LetterStore;
use crate::ports::overview::OverviewStore;
use crate::ports::quotas::{QuotaReads, QuotaStore};
use crate::ports::retention::RetentionStore;
use crate::ports::schedule::ScheduleStore;
use crate::ports::sessions::SessionStore;
use crate::ports::webhooks::WebhookStore;
use crate::ports::workers::WorkerStore;
use crate::time::Timestamp;
use crate::transition::{CommitReport, Decision, Snapshot, Transition};
use crate::user::{self, Writer};

mod creation;

pub use super::control::{CommandApplied, CommandError, ControlStore};
pub use super::filter::{Along, ExecutionFilter, MinimumDuration};
pub use super::recovery::{
    ExpiredLease, ReapReport, RecoveryReads, RecoveryStore, Sweep, SweepPage, SweepRequest,
};
pub use super::timers::{
    ClusterView, DueTimer, HeldShards, KeepRequest, LockRequest, ShardPass, TimerKind, TimerStore,
    shard_of,
};
pub use creation::{CreateOutcome, NewExecution};

/// The variant tells the caller what to do next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written: try again later.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// A read was given up because it took too long: ask for less.
    #[error("the store gave up a read that took too long: {0}")]
    TooLong(String),
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

#[derive(Clone, Debug)]
pub enum Claim {
    Taken(Box<ClaimedExecution>),
    /// The claim ended it (too many recoveries, or a stop that no worker had applied).
    Ended(CommitReport),
    Skipped(Skip),
}

#[derive(Clone, Debug)]
pub struct ClaimedExecution {
    pub execution: Execution,
    pub state: State,
}

impl ClaimedExecution {
    /// Both rows as the claim leaves them; `record` is that of the execution decided on.
    pub fn of(decision: Decision, record: Record) -> Self {
        let Subject { head, state } = decision.after();
        let execution = Execution { head, record };
        Self { execution, state }
    }
}

/// What decides a commit whose result is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub seq: u64,
    pub commit_id: Option<Uuid>,
    pub lease_token: Option<Uuid>,
    pub applied: CommitReport,
}

impl Probe {
    pub fn of(head: &Head, state: &State) -> Self {
        Self {
            seq: state.seq,
            commit_id: state.commit_id,
            lease_token: state.lease.as_ref().map(|lease| lease.token),
            applied: CommitReport::standing(head, state),
        }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    #[error("refused: {0:?}")]
    Refused(CommitRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The step protocol.
#[async_trait]
pub trait ExecutionStore: Send + Sync {
    /// Durable when it returns. A wait it is born with gets its timer row in the same transaction; the origin of a retry
    /// notes its name (`retried_as`), and has at most one unless `again` is set. The idempotency key counts
    /// before that.
    ///
    /// A commit of its first holder may be sent without waiting for the answer: if the create was polled first, it is
    /// decided first. A store may write both as one.
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome>;

    /// Takes leases for many messages in one transaction; answers in the order asked.
    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>>;

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError>;

    /// Reads what [`ExecutionStore::commit`] left, when its result is unknown.
    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>>;

    /// Extends leases; returns the rows that are still ours, with what people asked of them.
    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>>;

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
    pub fn of(head: &Head, state: &State) -> Self {
        Self {
            execution_id: head.id,
            schema_id: head.schema_id,
            node_id: state.position.node_id.clone(),
            seq: state.seq,
            debug_mode: state.debug != DebugMode::Off,
            priority: head.priority,
        }
    }
}

/// Schemas and their versions.
#[async_trait]
pub trait CatalogStore: Send + Sync {
    /// Adds a schema or a version of it. The content of a version never changes.
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError>;

    /// Makes a stored version, older or newer, the one that starts and triggers use.
    async fn publish_version(&self, wanted: PublishVersion) -> Result<SchemaRecord, CatalogError>;

    /// By id, or by name if `key` is no id. Deleted schemas are not found.
    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>>;

    /// By the number under which other programs know it. Deleted schemas are not found.
    async fn schema_by_external_id(&self, external_id: i64) -> StoreResult<Option<SchemaRecord>>;

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>>;

    /// Newest first, without their sources.
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
    /// The text that the definition was read from, as its author wrote it.
    pub source: Option<SourceText>,
    pub note: Option<String>,
    pub created_by: Writer,
    pub now: Timestamp,
    pub mode: SaveMode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveMode {
    /// The name must be free. The first version is published.
    Create,
    /// A new version of this schema; refused if its latest version is not `if_version`. The same content and text as the
    /// latest version make no new one ([`SaveSchema::step`]).
    Update {
        id: SchemaId,
        if_version: Option<u32>,
        /// Use it at once; else it is a draft.
        publish: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct SchemaRecord {
    pub id: SchemaId,
    pub name: String,
    pub description: Option<String>,
    /// That of the published version.
    pub external_id: Option<i64>,
    pub active: bool,
    pub latest_version: u32,
    /// What starts without a version and triggers use.
    pub published_version: u32,
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
    /// The text as its author wrote it; none in lists, and none of versions that were saved without one.
    pub source: Option<String>,
    /// `None`: there is no source.
    pub source_format: Option<SourceFormat>,
    pub note: Option<String>,
    pub created_by: String,
    /// The user who saved it, as they were then. `None`: it was saved before users were stored.
    pub owner: Option<Value>,
    pub created_at: Timestamp,
}

impl VersionRecord {
    /// `user` of executions that are started without a caller: by cron triggers, messages and webhooks.
    pub fn owner(&self) -> Value {
        let known = self.owner.clone();
        known.unwrap_or_else(|| user::unrecorded(&self.created_by))
    }
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

    /// Changes when dead letters or schemas do; cheap enough to be asked every other second.
    async fn pulse(&self) -> StoreResult<Pulse>;
}

/// Two of these that differ say that something has changed, not what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    pub letters: LetterPulse,
    pub schemas: SchemaPulse,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterPulse {
    pub last_id: u64,
    /// Counted up to 1000.
    pub open: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaPulse {
    /// Another number after every write to a schema.
    pub revision: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionView {
    pub execution: Execution,
    pub state: State,
    pub schema_name: String,
}

/// All roles together.
pub trait Store:
    OperationStore
    + ExecutionStore
    + ControlStore
    + RecoveryReads
    + RecoveryStore
    + TimerStore
    + ScheduleStore
    + CatalogStore
    + QueryStore
    + HistoryReads
    + OverviewStore
    + KeyStore
    + SessionStore
    + LetterStore
    + WebhookStore
    + WorkerStore
    + QuotaReads
    + QuotaStore
    + RetentionStore
{
}

impl<T> Store for T where
    T: OperationStore
        + ExecutionStore
        + ControlStore
        + RecoveryReads
        + RecoveryStore
        + TimerStore
        + ScheduleStore
        + CatalogStore
        + QueryStore
        + HistoryReads
        + OverviewStore
        + KeyStore
        + SessionStore
        + LetterStore
        + WebhookStore
        + WorkerStore
        + QuotaReads
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
