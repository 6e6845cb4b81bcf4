//! One worker's view of scheduled actions.

use async_trait::async_trait;

use pawl_kernel::ports::schedule::{ActionFilter, DuePlace, QueueRow, ScheduleStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;

use super::store::{FaultyStore, READ};

#[async_trait]
impl ScheduleStore for FaultyStore {
    async fn action(&self, id: &str) -> StoreResult<Option<ScheduledAction>> {
        self.pass(READ, self.inner.action(id)).await
    }

    async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        self.pass(READ, self.inner.actions(filter, after, limit))
            .await
    }

    async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> StoreResult<Vec<ScheduledAction>> {
        self.pass(READ, self.inner.actions_by_due(before, after, limit))
            .await
    }

    async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> StoreResult<Vec<(u64, PastAttempt)>> {
        self.pass(READ, self.inner.attempts(id, before, limit))
            .await
    }

    async fn queued(&self, id: &str) -> StoreResult<Vec<QueueRow>> {
        self.pass(READ, self.inner.queued(id)).await
    }
}
