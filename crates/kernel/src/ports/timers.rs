//! The timers as the store keeps them: who holds which shard of the queues, and what is due there. A holder's writes are
//! made under the locks of its shards.

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use uuid::Uuid;

use super::store::{Dispatch, StoreResult};
use crate::operations::{FireTimers, OperationStore, perform};
use crate::schedule::ScheduledAction;
use crate::time::Timestamp;
use crate::transition::WaitTimer;

/// Waits and their wake-ups, in the four tables of the timers.
#[async_trait]
pub trait TimerStore: OperationStore {
    /// Takes [free](LockRequest::is_free) shard locks, those longest unserved first, at most `max`.
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>>;

    /// Heartbeats all shards locked under these guids; tells which those are, and of the others what decides on their share.
    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<HeldShards>;

    /// Gives back the locks under these guids: all, or only of these shards.
    async fn unlock_shards(
        &self,
        locks: Vec<Uuid>,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()>;

    /// Moves incoming rows of these shards to the processing queue; returns those that were moved.
    async fn collect(
        &self,
        pass: ShardPass,
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
    /// Stale rows are deleted without effect. Timers of another kind are left alone.
    async fn fire(
        &self,
        pass: ShardPass,
        timers: Vec<DueTimer>,
        now: Timestamp,
    ) -> StoreResult<Vec<Dispatch>> {
        perform(self, FireTimers { pass, timers, now }).await
    }
}

/// What the holder of shards writes under, once around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardPass {
    /// The fence: the guids of those takings under which it holds shards. A shard that was taken again since then, even by
    /// the same worker, has another guid, and nothing is written there.
    pub locks: Vec<Uuid>,
    /// The name of this time around: rows of the processing queue show which one moved and rescheduled them.
    pub sync: Uuid,
}

#[derive(Clone, Debug)]
pub struct LockRequest {
    /// New for each taking.
    pub guid: Uuid,
    /// The holder, for people and for counting: no two workers are called the same.
    pub owner: String,
    pub now: Timestamp,
    /// Of those that a worker holds: not heard of since then.
    pub stale_before: Timestamp,
    /// Of those that no worker holds: given back by then, or never taken. `None`: any.
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
    /// Takings of the worker who asks.
    pub locks: Vec<Uuid>,
    /// The worker who asks, as it reports itself.
    pub owner: String,
    pub now: Timestamp,
    /// Workers that reported themselves since then are alive.
    pub alive_since: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldShards {
    /// Shards that are still ours, each with the guid of its taking.
    pub locks: BTreeMap<u32, Uuid>,
    pub cluster: ClusterView,
}

impl HeldShards {
    /// Still ours, in order.
    pub fn shards(&self) -> Vec<u32> {
        self.locks.keys().copied().collect()
    }
}

/// What decides on how many shards a worker should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// Locks there are, held or free.
    pub locks: u32,
    /// Other workers that are alive and fire timers.
    pub others: u32,
    /// The most that one other has.
    pub most_of_another: u32,
    /// Since when the lock lies there that no worker has held for longest; the beginning of time if none ever had it.
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
    pub kind: TimerKind,
}

impl DueTimer {
    /// The row that wakes an execution.
    pub fn of_wait(timer: &WaitTimer, shards: u32) -> Self {
        Self {
            at: timer.at,
            shard_id: shard_of(timer.wait_id, shards),
            action_id: timer.execution_id.to_string(),
            guid: timer.wait_id,
            kind: TimerKind::Wait,
        }
    }

    /// The row of an action, if it is due some time.
    pub fn of_action(action: &ScheduledAction, shards: u32) -> Option<Self> {
        Some(Self {
            at: action.due_at()?,
            shard_id: shard_of(action.guid, shards),
            action_id: action.id.clone(),
            guid: action.guid,
            kind: TimerKind::Action,
        })
    }

    /// Whether a verb for timers of `kind` may touch this one at `now`, under locks of the shards that are `owned`.
    pub fn is_ready(&self, kind: TimerKind, owned: impl Fn(u32) -> bool, now: Timestamp) -> bool {
        self.kind == kind && self.at <= now && owned(self.shard_id)
    }
}

/// What a row of the queues is about. Its number in the database is 1 or 2: 0 is what a worker writes that does not know
/// the column yet, and its store says which of the two that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimerKind {
    /// A wait of an execution, which [`TimerStore::fire`] ends.
    Wait = 1,
    /// A scheduled action, of which [`begin_actions`](super::schedule::ScheduleStore::begin_actions) begins the next attempt.
    Action = 2,
}

impl TimerKind {
    /// The number in the database.
    pub const fn code(self) -> i64 {
        self as i64
    }

    pub fn from_code(code: i64) -> Option<Self> {
        [Self::Wait, Self::Action]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// The shard of a queue row. Wait ids and guids of actions are random, so their bits spread evenly.
pub fn shard_of(guid: Uuid, shards: u32) -> u32 {
    let (high, low) = guid.as_u64_pair();
    ((high ^ low) % u64::from(shards.max(1))) as u32
}
