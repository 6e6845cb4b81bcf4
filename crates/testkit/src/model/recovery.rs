//! Bringing back what was lost.

use std::ops::Bound;

use async_trait::async_trait;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle;
use pawl_kernel::ports::store::{
    Dispatch, Expired, Reaped, RecoveryStore, StoreResult, Sweep, SweepRequest,
};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;

use super::ModelStore;
use super::tables::{Row, Tables};

/// The back-off of the sweeper doubles this often, then stays.
const DOUBLINGS_MAX: u32 = 6;

#[async_trait]
impl RecoveryStore for ModelStore {
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64> {
        let mut tables = self.lock();
        let open: Vec<ExecutionId> = tables.open.iter().copied().collect();
        let cleared = open.into_iter().filter(|id| tables.recover(*id, now));
        Ok(cleared.count() as u64)
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Expired>> {
        let tables = self.lock();
        let rows = tables.open.iter().map(|id| &tables.rows[id]);
        Ok(rows
            .filter(|row| row.state.lease.as_ref().is_some_and(|l| l.until <= now))
            .map(expired)
            .take(limit as usize)
            .collect())
    }

    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<Reaped>> {
        Ok(self.lock().reap(id, on_stuck, now))
    }

    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep> {
        Ok(self.lock().sweep(&request))
    }
}

impl Tables {
    fn recover(&mut self, id: ExecutionId, now: Timestamp) -> bool {
        let row = &self.rows[&id];
        let change = lifecycle::recover(&row.execution.head, &row.state, now);
        change.map(|change| self.apply(change)).is_some()
    }

    fn reap(&mut self, id: ExecutionId, on_stuck: OnStuck, now: Timestamp) -> Option<Reaped> {
        let row = self.row(id)?;
        let change = lifecycle::reap(&row.execution.head, &row.state, on_stuck, now)?;
        let applied = self.apply(change);
        let dispatch = self.dispatch_of(id, &applied);
        Some(Reaped { applied, dispatch })
    }

    fn sweep(&mut self, request: &SweepRequest) -> Sweep {
        let from = request.after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = self.open.range((from, Bound::Unbounded));
        let page: Vec<ExecutionId> = page.take(request.limit as usize).copied().collect();
        let full = page.len() == request.limit as usize;
        let next = page.last().copied().filter(|_| full);
        let can_run = |id: &&ExecutionId| {
            let status = self.rows.get(id).map(|row| row.execution.head.status);
            matches!(status, Some(Status::Running | Status::Queued))
        };
        let looked_at = page.iter().filter(can_run).count() as u32;
        let due = page
            .into_iter()
            .filter_map(|id| self.sweep_one(id, request));
        Sweep {
            due: due.collect(),
            looked_at,
            next,
        }
    }

    fn sweep_one(&mut self, id: ExecutionId, request: &SweepRequest) -> Option<Dispatch> {
        let row = self.rows.get_mut(&id)?;
        if !request.is_due(&row.execution.head, &row.state) {
            return None;
        }
        let wait = request.back_off * (1 << row.sweeps.min(DOUBLINGS_MAX));
        row.state.next_sweep_at = Some(request.now.plus(wait));
        row.sweeps += 1;
        Some(row.dispatch())
    }
}

fn expired(row: &Row) -> Expired {
    Expired {
        execution_id: row.execution.head.id,
        schema_id: row.execution.head.schema_id,
        schema_version: row.execution.head.schema_version,
    }
}
