//! One worker's view of scheduled actions.

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::ports::schedule::{
    ActionCommand, ActionError, ActionFilter, PutError, QueueRow, RecordRequest, ScheduleStore,
};
use pawl_kernel::ports::store::{DueTimer, ShardPass, StoreResult};
use pawl_kernel::schedule::{Limits, PastAttempt, Put, Record, Run, ScheduledAction};
use pawl_kernel::time::Timestamp;

use super::store::{FaultyStore, READ, WRITE};

#[async_trait]
impl ScheduleStore for FaultyStore {
    async fn put_action(&self, put: Put, now: Timestamp) -> Result<ScheduledAction, PutError> {
        self.pass(WRITE, self.inner.put_action(put, now)).await
    }

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

    async fn delete_action(&self, id: &str) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.delete_action(id)).await
    }

    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
        guid: Uuid,
        now: Timestamp,
    ) -> Result<ScheduledAction, ActionError> {
        self.pass(WRITE, self.inner.command_action(id, command, guid, now))
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

    async fn begin_actions(
        &self,
        pass: ShardPass,
        due: Vec<DueTimer>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<(DueTimer, Run)>> {
        self.pass(WRITE, self.inner.begin_actions(pass, due, limits, now))
            .await
    }

    async fn record_actions(
        &self,
        sync: Uuid,
        requests: Vec<RecordRequest>,
        limits: Limits,
        now: Timestamp,
    ) -> StoreResult<Vec<Option<Record>>> {
        self.pass(
            WRITE,
            self.inner.record_actions(sync, requests, limits, now),
        )
        .await
    }
}
