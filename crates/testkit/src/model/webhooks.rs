//! Webhooks, straight from the published versions of their schemas.

use async_trait::async_trait;

use pawl_kernel::execution::{Step, StepStatus};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::webhooks::{WebhookRow, WebhookStore};
use pawl_kernel::webhook::answer;

use super::ModelStore;

#[async_trait]
impl WebhookStore for ModelStore {
    async fn webhook_revision(&self) -> StoreResult<u64> {
        Ok(self.lock().catalog.webhook_revision())
    }

    async fn webhooks(&self) -> StoreResult<(u64, Vec<WebhookRow>)> {
        let catalog = &self.lock().catalog;
        Ok((catalog.webhook_revision(), catalog.webhooks()))
    }

    async fn webhooks_of(&self, schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>> {
        let mut rows = self.lock().catalog.webhooks();
        rows.retain(|row| schemas.contains(&row.schema_id));
        Ok(rows)
    }

    async fn answer_of(&self, id: ExecutionId) -> StoreResult<Option<String>> {
        let tables = self.lock();
        let steps = tables.row(id).map_or(&[][..], |row| &row.steps);
        let answers = |step: &Step| {
            &*step.node_type == answer::NODE_TYPE && step.status == StepStatus::Success
        };
        let first = steps.iter().find(|(step, _)| answers(step));
        Ok(first.and_then(|(step, _)| step.output.clone()))
    }
}
