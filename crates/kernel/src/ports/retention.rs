//! Removing what ended long ago, and giving its space back. An execution that is open is never touched: what may go is
//! looked at again in the transaction that removes it.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::store::StoreResult;
use crate::execution::Execution;
use crate::id::{ExecutionId, SchemaId};
use crate::time::Timestamp;

/// However short the retention, an execution that was started with an idempotency key answers for it this long after
/// its end: a client that repeats its request must not start the work again.
pub const KEY_KEPT: Duration = Duration::from_secs(24 * 3600);

/// Which finished executions may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoff {
    /// Those that ended before this.
    pub ended_before: Timestamp,
    /// Those with an idempotency key only if they ended before this.
    pub keyed_ended_before: Timestamp,
}

impl Cutoff {
    /// Finished executions are kept for this long after their end.
    pub fn new(now: Timestamp, keep: Duration) -> Self {
        Self {
            ended_before: now.minus(keep),
            keyed_ended_before: now.minus(keep.max(KEY_KEPT)),
        }
    }

    /// No execution with this id or a later one can have ended before: ids are in order of creation.
    pub fn first_id_kept(&self) -> ExecutionId {
        first_id(self.ended_before)
    }

    /// What the cutoff says about an execution itself; that its parent must not be open comes on top.
    pub fn is_past(&self, execution: &Execution) -> bool {
        let before = match execution.record.idempotency_key {
            Some(_) => self.keyed_ended_before,
            None => self.ended_before,
        };
        let ended = execution
            .head
            .finished_at
            .filter(|_| execution.head.status.is_terminal());
        execution.head.id < self.first_id_kept() && ended.is_some_and(|at| at < before)
    }
}

/// The smallest id of a moment.
pub fn first_id(time: Timestamp) -> ExecutionId {
    let millis = u128::try_from(time.as_micros().max(0) / 1000).unwrap_or(0);
    ExecutionId(Uuid::from_u128(millis << 80))
}

#[derive(Clone, Debug)]
pub struct OutdatedRequest {
    pub schema_id: SchemaId,
    pub cutoff: Cutoff,
    pub after: Option<ExecutionId>,
    /// Rows read, whether they may go or not.
    pub limit: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutdatedPage {
    /// In order.
    pub ids: Vec<ExecutionId>,
    /// Where the next page starts; `None`: the end was reached.
    pub next: Option<ExecutionId>,
}

#[derive(Clone, Debug)]
pub struct RemoveRequest {
    /// Few enough for one transaction.
    pub ids: Vec<ExecutionId>,
    pub cutoff: Cutoff,
    /// Executions created before this are past every retention there is. A store that can drop their history as a
    /// whole later, with [`RetentionStore::reclaim`], need not delete it row by row.
    pub all_gone_before: Option<Timestamp>,
}

/// How many rows went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovalReport {
    pub executions: u64,
    /// Steps, snapshots and log lines that were deleted one by one, and attempts of actions.
    pub history: u64,
    pub signals: u64,
    pub dead_letters: u64,
    /// Scheduled actions.
    pub actions: u64,
}

impl std::ops::AddAssign for RemovalReport {
    fn add_assign(&mut self, other: Self) {
        self.executions += other.executions;
        self.history += other.history;
        self.signals += other.signals;
        self.dead_letters += other.dead_letters;
        self.actions += other.actions;
    }
}

/// What was given back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReclaimReport {
    /// Tables that were dropped as a whole.
    pub tables: Vec<String>,
    pub bytes: u64,
    /// There is more to give back than one call does.
    pub more: bool,
}

#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Every schema there ever was, also those that were deleted, with its published version; in order of id.
    async fn published_versions(
        &self,
        after: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<(SchemaId, u32)>>;

    /// Executions of one schema that may go: ended, past the cutoff, and no part of a parent that is still open.
    async fn outdated(&self, request: OutdatedRequest) -> StoreResult<OutdatedPage>;

    /// Removes these with everything that belongs to them, as far as they may still go, in one transaction.
    async fn remove(&self, request: RemoveRequest) -> StoreResult<RemovalReport>;

    /// Scheduled actions that finished before then, the first ones first.
    async fn outdated_actions(
        &self,
        finished_before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<String>>;

    /// Removes these with their history, as far as they still are finished so long, in one transaction.
    async fn remove_actions(
        &self,
        ids: Vec<String>,
        finished_before: Timestamp,
    ) -> StoreResult<RemovalReport>;

    /// Gives back some of the space of what was removed. Bounded work; no other transaction has to wait long for it.
    async fn reclaim(&self, now: Timestamp) -> StoreResult<ReclaimReport>;

    /// What the tables need from time to time to stay fast. Called about once an hour.
    async fn maintain(&self, now: Timestamp) -> StoreResult<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_for_a_day_however_short_the_retention() {
        let now = Timestamp::from_micros(10 * 86_400_000_000);
        let hour = Duration::from_secs(3_600);
        let cutoff = Cutoff::new(now, hour);
        assert_eq!(cutoff.ended_before, now.minus(hour));
        assert_eq!(cutoff.keyed_ended_before, now.minus(KEY_KEPT));
        let week = Duration::from_secs(7 * 86_400);
        let cutoff = Cutoff::new(now, week);
        assert_eq!(cutoff.keyed_ended_before, cutoff.ended_before);
    }

    #[test]
    fn ids_of_a_moment_are_not_before_its_first() {
        struct Nothing;
        impl crate::id::Entropy for Nothing {
            fn bits(&self) -> u128 {
                0
            }
        }
        let moment = Timestamp::from_micros(1_800_000_000_123_999);
        let id = ExecutionId(crate::id::time_ordered(moment, &Nothing));
        assert!(first_id(moment) <= id);
        assert!(id < first_id(moment.plus(Duration::from_millis(1))));
    }
}
