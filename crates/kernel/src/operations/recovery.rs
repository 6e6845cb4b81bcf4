//! Bringing back what was lost. Candidates are looked for outside any transaction; each operation decides about them again
//! under their locks.

use std::time::Duration;

use async_trait::async_trait;

use super::{Access, Operation, SweepDelay, Transaction, decide_each};
use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::lifecycle;
use crate::ports::store::{Dispatch, ReapReport, StoreResult, SweepRequest};
use crate::schema::definition::OnStuck;
use crate::time::Timestamp;

/// The back-off of the sweeper doubles this often, then stays.
const DOUBLINGS_MAX: u32 = 6;

/// Clears leases whose holders are known to be gone: an embedded store at its start.
#[derive(Clone, Debug)]
pub struct ClearLeases {
    pub ids: Vec<ExecutionId>,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for ClearLeases {
    /// How many leases were cleared.
    type Answer = u64;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let free = rows.free_subjects(&self.ids).await?;
        let recover = |row: &Subject| lifecycle::recover(&row.head, &row.state, self.now);
        let decisions = decide_each(free.rows, recover);
        let cleared = decisions.len() as u64;
        rows.write(decisions).await?;
        Ok(cleared)
    }
}

/// Takes an expired lease from its holder.
#[derive(Clone, Debug)]
pub struct ReapLease {
    pub id: ExecutionId,
    pub on_stuck: OnStuck,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for ReapLease {
    /// `None`: another reaper was faster, the holder came back, or its commit has the row locked.
    type Answer = Option<ReapReport>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let free = rows.free_subjects(&[self.id]).await?;
        let reap = |row: &Subject| lifecycle::reap(&row.head, &row.state, self.on_stuck, self.now);
        let decisions = decide_each(free.rows, reap);
        let reaped = decisions.first().map(|decision| ReapReport {
            applied: decision.change.outcome(),
            dispatch: decision.dispatch(),
        });
        rows.write(decisions).await?;
        Ok(reaped)
    }
}

/// Puts off the next sweep of those that are due, and names them.
#[derive(Clone, Debug)]
pub struct SweepExecutions {
    pub ids: Vec<ExecutionId>,
    pub request: SweepRequest,
}

impl SweepExecutions {
    fn delay(&self, swept: u32) -> Duration {
        self.request.back_off * (1 << swept.min(DOUBLINGS_MAX))
    }
}

#[async_trait]
impl Operation for SweepExecutions {
    type Answer = Vec<Dispatch>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let free = rows.free_subjects(&self.ids).await?;
        let due = free.rows.into_values();
        let due = due.filter(|row| self.request.is_due(&row.head, &row.state));
        let due: Vec<Subject> = due.collect();
        let ids: Vec<ExecutionId> = due.iter().map(|row| row.head.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let swept = rows.sweep_counts(&ids).await?;
        let put_off = due.iter().map(|row| SweepDelay {
            execution_id: row.head.id,
            version: row.state.version,
            until: self
                .request
                .now
                .plus(self.delay(swept.get(&row.head.id).copied().unwrap_or(0))),
        });
        rows.put_off_sweeps(&put_off.collect::<Vec<_>>()).await?;
        let dispatch = |row: &Subject| Dispatch::of(&row.head, &row.state);
        Ok(due.iter().map(dispatch).collect())
    }
}
