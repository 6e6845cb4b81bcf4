//! Bringing back what was lost: leases of workers that are gone, executions that no message is under way for.

use std::time::Duration;

use async_trait::async_trait;

use super::store::{Dispatch, StoreResult};
use crate::execution::{Head, PriorityClass, State};
use crate::id::{ExecutionId, SchemaId};
use crate::operations::{ClearLeases, OperationStore, ReapLease, SweepExecutions, perform};
use crate::schema::definition::OnStuck;
use crate::time::Timestamp;
use crate::transition::CommitReport;

/// Bringing back what was lost.
#[async_trait]
pub trait RecoveryStore: Send + Sync {
    /// Clears every lease: only while no other process can be running on this store. Returns how many.
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64>;

    /// Executions whose lease has run out by `now`.
    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>>;

    /// Takes one such lease away. `None`: another process was faster, or the holder came back.
    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<ReapReport>>;

    /// Executions that [are due](SweepRequest::is_due); their next sweep is put off by `back_off`, doubled each time. In id order after `after`; the page ends at `limit` rows read.
    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep>;
}

/// Looking for what was lost, outside any transaction.
#[async_trait]
pub trait RecoveryReads: Send + Sync {
    /// Executions under a lease, alive or not.
    async fn leases_held(&self, limit: u32) -> StoreResult<Vec<ExecutionId>>;

    /// Executions whose lease has run out by `now`.
    async fn leases_expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>>;

    /// One page of the executions of a status that can run, in id order after `request.after`.
    async fn sweep_page(&self, request: SweepRequest) -> StoreResult<SweepPage>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepPage {
    /// Those that seemed due.
    pub due: Vec<ExecutionId>,
    /// How many executions the page has.
    pub looked_at: u32,
    /// Where the next page starts; `None`: the end was reached.
    pub next: Option<ExecutionId>,
}

/// Leases cleared in one transaction.
const CLEARED_MAX: u32 = 1_000;

#[async_trait]
impl<S: OperationStore + RecoveryReads> RecoveryStore for S {
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64> {
        let mut cleared = 0;
        loop {
            let ids = self.leases_held(CLEARED_MAX).await?;
            let is_last = ids.len() < CLEARED_MAX as usize;
            let batch = perform(self, ClearLeases { ids, now }).await?;
            cleared += batch;
            // A page of leases that cannot be cleared would come again and again.
            if is_last || batch == 0 {
                return Ok(cleared);
            }
        }
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>> {
        self.leases_expired(now, limit).await
    }

    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<ReapReport>> {
        perform(self, ReapLease { id, on_stuck, now }).await
    }

    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep> {
        let page = self.sweep_page(request.clone()).await?;
        let SweepPage {
            due: ids,
            looked_at,
            next,
        } = page;
        let due = if ids.is_empty() {
            Vec::new()
        } else {
            perform(self, SweepExecutions { ids, request }).await?
        };
        Ok(Sweep {
            due,
            looked_at,
            next,
        })
    }
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
    pub fn is_due(&self, head: &Head, state: &State) -> bool {
        let classes = PriorityClass::ALL.iter().zip(&self.idle_since);
        let mut of_class = classes.filter(|(class, _)| **class == head.priority);
        let Some((_, idle_since)) = of_class.next() else {
            return false;
        };
        let lease = state.lease.as_ref();
        !head.status.is_terminal()
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
pub struct ExpiredLease {
    pub execution_id: ExecutionId,
    pub schema_id: SchemaId,
    pub schema_version: u32,
}

#[derive(Clone, Debug)]
pub struct ReapReport {
    pub applied: CommitReport,
    pub dispatch: Option<Dispatch>,
}
