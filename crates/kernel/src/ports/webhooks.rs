//! The table of webhooks, and the answers that executions have given.

use async_trait::async_trait;

use crate::id::{ExecutionId, SchemaId};
use crate::ports::store::{SaveSchema, StoreResult};
use crate::webhook::{self, NamedTrigger, Webhook};

#[async_trait]
pub trait WebhookStore: Send + Sync {
    /// Another number whenever [`WebhookStore::webhooks`] would show something else.
    async fn webhook_revision(&self) -> StoreResult<u64>;

    /// Those of the published versions, active or not, and a revision that is no newer than they are.
    async fn webhooks(&self) -> StoreResult<(u64, Vec<WebhookRow>)>;

    /// The same, of these schemas alone.
    async fn webhooks_of(&self, schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>>;

    /// The output of the first [answering](webhook::answer::NODE_TYPE) step of an execution, as JSON text.
    async fn answer_of(&self, id: ExecutionId) -> StoreResult<Option<String>>;
}

/// A row of `webhooks`, with what belongs to its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRow {
    pub schema_id: SchemaId,
    pub schema: String,
    pub version: u32,
    pub active: bool,
    pub name: String,
    /// The trigger as JSON text.
    pub definition: String,
}

impl WebhookRow {
    /// `None`: what stands there is no trigger.
    pub fn read(self) -> Option<Webhook> {
        let entry = serde_json::from_str(&self.definition).ok()?;
        Some(Webhook {
            schema_id: self.schema_id,
            schema: self.schema,
            version: self.version,
            active: self.active,
            name: self.name,
            trigger: webhook::read::of_value(&entry)?,
        })
    }
}

impl SaveSchema {
    /// The webhooks that this version has: its rows, written in the same transaction.
    pub fn webhooks(&self) -> Vec<NamedTrigger> {
        webhook::of_text(&self.definition)
    }
}
