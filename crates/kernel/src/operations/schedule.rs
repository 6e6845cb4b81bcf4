//! The rows of scheduled actions and of the timers' queues, as a transaction reads and writes them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::ports::schedule::SyncMark;
use crate::ports::store::{DueTimer, StoreResult};
use crate::schedule::{PastAttempt, ScheduledAction};
use crate::time::Timestamp;

/// How long a timer is put off whose execution or action is locked, and one whose execution or action cannot be decoded:
/// other timers do not wait for it.
pub(super) const WHILE_BUSY: Duration = Duration::from_millis(500);
pub(super) const WHILE_UNREADABLE: Duration = Duration::from_secs(60);

/// Id and guid of a row of the queues.
pub type TimerKey = (String, Uuid);

#[async_trait]
pub trait ScheduleRows: Send {
    /// The shards that are locked under one of these guids, each with its own. They stay so until the transaction ends.
    async fn owned_shards(&mut self, locks: &[Uuid]) -> StoreResult<BTreeMap<u32, Uuid>>;

    /// How many shards new rows of the queues are spread over.
    fn shard_count(&self) -> u32;

    /// Appends rows to the incoming queue.
    async fn enqueue_timers(&mut self, timers: Vec<DueTimer>, now: Timestamp) -> StoreResult<()>;

    /// Moves rows of the processing queue, or takes them away. Returns those that were there. Rows that another
    /// transaction has locked count as gone: it deals with them.
    async fn move_timers(
        &mut self,
        moves: &[TimerMove],
        mark: SyncMark,
    ) -> StoreResult<HashSet<TimerKey>>;

    /// Takes rows of the processing queue away. Returns those that were there.
    async fn delete_timers(&mut self, timers: &[DueTimer]) -> StoreResult<HashSet<TimerKey>>;

    /// Locks an action, and reads it. One that cannot be decoded is an error.
    async fn action(&mut self, id: &str) -> StoreResult<Option<ScheduledAction>>;

    /// What can be had of these actions without waiting for locks. Ids without an action are left out.
    async fn free_actions(
        &mut self,
        ids: HashSet<String>,
    ) -> StoreResult<HashMap<String, FreeAction>>;

    /// Those of these idempotency keys under which an execution was started that has not ended.
    async fn running_keys(&mut self, keys: &[String]) -> StoreResult<HashSet<String>>;

    /// Writes a whole action over the one with this guid, or where there is none. False: there is another one by now.
    async fn put_action(
        &mut self,
        action: &ScheduledAction,
        over: Option<Uuid>,
    ) -> StoreResult<bool>;

    /// Writes what workers change of actions that this transaction has read.
    async fn update_actions(&mut self, actions: Vec<ScheduledAction>) -> StoreResult<()>;

    /// Deletes an action with its history. False: there is none.
    async fn delete_action(&mut self, id: &str) -> StoreResult<bool>;

    /// Adds to the history. What is known about an attempt does not change.
    async fn add_attempts(&mut self, attempts: Vec<AttemptRecord>) -> StoreResult<()>;

    /// Leaves the latest [`ATTEMPTS_KEPT`](crate::ports::schedule::ATTEMPTS_KEPT) attempts of each of these actions, with
    /// those that this transaction adds.
    async fn forget_attempts(&mut self, ids: Vec<String>) -> StoreResult<()>;
}

/// Where a row of the processing queue goes.
#[derive(Clone, Debug)]
pub struct TimerMove {
    pub timer: DueTimer,
    /// `None`: away.
    pub to: Option<Timestamp>,
}

/// What can be had of an action without waiting.
#[derive(Clone, Debug)]
pub struct FreeAction {
    pub guid: Uuid,
    pub content: ActionContent,
}

#[derive(Clone, Debug)]
pub enum ActionContent {
    Row(Box<ScheduledAction>),
    /// Another transaction has it locked.
    Busy,
    /// It cannot be decoded by this version of the program; another version may.
    Unreadable,
}

/// An attempt for the history.
#[derive(Clone, Debug)]
pub struct AttemptRecord {
    pub action_id: String,
    pub generation: u64,
    pub past: PastAttempt,
}
