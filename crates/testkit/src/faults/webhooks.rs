//! One server's view of webhooks.

use async_trait::async_trait;

use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::webhooks::{WebhookRow, WebhookStore};

use super::store::{FaultyStore, READ};

#[async_trait]
impl WebhookStore for FaultyStore {
    async fn webhook_revision(&self) -> StoreResult<u64> {
        self.pass(READ, self.inner.webhook_revision()).await
    }

    async fn webhooks(&self) -> StoreResult<(u64, Vec<WebhookRow>)> {
        self.pass(READ, self.inner.webhooks()).await
    }

    async fn webhooks_of(&self, schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>> {
        self.pass(READ, self.inner.webhooks_of(schemas)).await
    }

    async fn answer_of(&self, id: ExecutionId) -> StoreResult<Option<String>> {
        self.pass(READ, self.inner.answer_of(id)).await
    }
}
