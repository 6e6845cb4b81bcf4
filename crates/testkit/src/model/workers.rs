//! What workers say of themselves.

use std::collections::BTreeMap;

use async_trait::async_trait;

use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::time::Timestamp;

use super::ModelStore;

pub(super) type Workers = BTreeMap<String, WorkerRecord>;

#[async_trait]
impl WorkerStore for ModelStore {
    async fn report_worker(
        &self,
        report: WorkerRecord,
        forget_before: Timestamp,
    ) -> StoreResult<()> {
        let workers = &mut self.lock().workers;
        workers.insert(report.id.clone(), report);
        workers.retain(|_, worker| worker.heartbeat_at >= forget_before);
        Ok(())
    }

    async fn remove_worker(&self, id: &str) -> StoreResult<()> {
        self.lock().workers.remove(id);
        Ok(())
    }

    async fn workers(&self, since: Timestamp) -> StoreResult<Vec<WorkerRecord>> {
        let tables = self.lock();
        let heard = |worker: &&WorkerRecord| worker.heartbeat_at >= since;
        Ok(tables.workers.values().filter(heard).cloned().collect())
    }
}
