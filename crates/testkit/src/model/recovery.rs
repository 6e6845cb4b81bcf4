//! Looking for what was lost.

use std::ops::Bound;

use async_trait::async_trait;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    ExpiredLease, RecoveryReads, StoreResult, SweepPage, SweepRequest,
};
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::{Row, Tables};

#[async_trait]
impl RecoveryReads for ModelStore {
    async fn leases_held(&self, limit: u32) -> StoreResult<Vec<ExecutionId>> {
        let tables = self.lock();
        let open = tables.open.iter().copied();
        let held = open.filter(|id| tables.rows[id].state.lease.is_some());
        Ok(held.take(limit as usize).collect())
    }

    async fn leases_expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>> {
        let tables = self.lock();
        let rows = tables.open.iter().map(|id| &tables.rows[id]);
        Ok(rows
            .filter(|row| row.state.lease.as_ref().is_some_and(|l| l.until <= now))
            .map(expired)
            .take(limit as usize)
            .collect())
    }

    async fn sweep_page(&self, request: SweepRequest) -> StoreResult<SweepPage> {
        Ok(self.lock().sweep_page(&request))
    }
}

impl Tables {
    fn sweep_page(&self, request: &SweepRequest) -> SweepPage {
        let from = request.after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = self.open.range((from, Bound::Unbounded));
        let page: Vec<ExecutionId> = page.take(request.limit as usize).copied().collect();
        let full = page.len() == request.limit as usize;
        let next = page.last().copied().filter(|_| full);
        let can_run = |id: &&ExecutionId| {
            let status = self.rows[id].execution.head.status;
            matches!(status, Status::Running | Status::Queued)
        };
        let is_due = |id: &ExecutionId| {
            let row = &self.rows[id];
            request.is_due(&row.execution.head, &row.state)
        };
        SweepPage {
            looked_at: page.iter().filter(can_run).count() as u32,
            due: page.into_iter().filter(is_due).collect(),
            next,
        }
    }
}

fn expired(row: &Row) -> ExpiredLease {
    ExpiredLease {
        execution_id: row.execution.head.id,
        schema_id: row.execution.head.schema_id,
        schema_version: row.execution.head.schema_version,
    }
}
