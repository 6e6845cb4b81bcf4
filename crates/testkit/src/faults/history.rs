//! One server's view of what executions did.

use async_trait::async_trait;

use pawl_kernel::execution::{LogRecord, Signal};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::history::{HistoryReads, LogQuery, StepOutline};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, StoreResult};

use super::store::{FaultyStore, READ};

#[async_trait]
impl HistoryReads for FaultyStore {
    async fn outline(
        &self,
        id: ExecutionId,
        after: u64,
        up_to: u64,
        limit: u32,
    ) -> StoreResult<Vec<StepOutline>> {
        self.pass(READ, self.inner.outline(id, after, up_to, limit))
            .await
    }

    async fn log_page(&self, query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>> {
        self.pass(READ, self.inner.log_page(query)).await
    }

    async fn signal_page(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, Signal)>> {
        self.pass(READ, self.inner.signal_page(id, after, limit))
            .await
    }

    async fn execution_briefs(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.pass(READ, self.inner.execution_briefs(filter, before, limit))
            .await
    }
}
