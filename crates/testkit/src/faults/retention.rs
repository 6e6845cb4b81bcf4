//! One worker's view of retention.

use async_trait::async_trait;

use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::retention::{
    OutdatedPage, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest, RetentionStore,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;

use super::store::{FaultyStore, READ, WRITE};

#[async_trait]
impl RetentionStore for FaultyStore {
    async fn published_versions(
        &self,
        after: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<(SchemaId, u32)>> {
        self.pass(READ, self.inner.published_versions(after, limit))
            .await
    }

    async fn outdated(&self, request: OutdatedRequest) -> StoreResult<OutdatedPage> {
        self.pass(READ, self.inner.outdated(request)).await
    }

    async fn remove(&self, request: RemoveRequest) -> StoreResult<RemovalReport> {
        self.pass(WRITE, self.inner.remove(request)).await
    }

    async fn outdated_actions(
        &self,
        finished_before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<String>> {
        self.pass(READ, self.inner.outdated_actions(finished_before, limit))
            .await
    }

    async fn remove_actions(
        &self,
        ids: Vec<String>,
        finished_before: Timestamp,
    ) -> StoreResult<RemovalReport> {
        self.pass(WRITE, self.inner.remove_actions(ids, finished_before))
            .await
    }

    async fn reclaim(&self, now: Timestamp) -> StoreResult<ReclaimReport> {
        self.pass(WRITE, self.inner.reclaim(now)).await
    }

    async fn maintain(&self, now: Timestamp) -> StoreResult<()> {
        self.pass(WRITE, self.inner.maintain(now)).await
    }
}
