//! What editors keep beside the versions of a schema: where its nodes are drawn, and outputs that trial runs use instead of
//! running a node. Neither changes what a version means.

use async_trait::async_trait;

use super::{Access, Operation, Transaction};
use crate::id::SchemaId;
use crate::ports::store::StoreResult;
use crate::time::Timestamp;

/// The longest layout, in bytes of JSON.
pub const LAYOUT_BYTES_MAX: usize = 512 << 10;
/// The longest output of one pin, in bytes of JSON.
pub const PIN_BYTES_MAX: usize = 256 << 10;
/// The most pins of one schema.
pub const PINS_MAX: usize = 100;
/// All outputs of one schema's pins together: a trial run carries them along.
pub const PINS_BYTES_MAX: usize = 4 << 20;

/// Where a schema is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLayout {
    /// Counts the writes, from 1.
    pub revision: u64,
    /// JSON text.
    pub layout: String,
    pub updated_by: String,
    pub updated_at: Timestamp,
}

/// An output that stands in for a node in trial runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    pub node_id: String,
    /// The exit; `None`: the one that an edge without a name means.
    pub handle: Option<String>,
    /// JSON text.
    pub output: String,
    pub updated_by: String,
    pub updated_at: Timestamp,
}

/// A pin without its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinHead {
    pub node_id: String,
    pub handle: Option<String>,
    /// Of the output.
    pub bytes: u64,
    pub updated_by: String,
    pub updated_at: Timestamp,
}

/// The rows that belong to an editor.
#[async_trait]
pub trait EditorRows: Send {
    /// Locks a schema, so that all who write beside it take turns. `false`: there is none, or it was deleted.
    async fn lock_schema(&mut self, id: SchemaId) -> StoreResult<bool>;

    async fn layout(&mut self, id: SchemaId) -> StoreResult<Option<StoredLayout>>;

    async fn put_layout(&mut self, id: SchemaId, layout: &StoredLayout) -> StoreResult<()>;

    /// In order of node.
    async fn pins(&mut self, id: SchemaId) -> StoreResult<Vec<Pin>>;

    /// In order of node.
    async fn pin_heads(&mut self, id: SchemaId) -> StoreResult<Vec<PinHead>>;

    async fn pin(&mut self, id: SchemaId, node: &str) -> StoreResult<Option<Pin>>;

    async fn put_pin(&mut self, id: SchemaId, pin: &Pin) -> StoreResult<()>;

    /// `false`: there was none.
    async fn remove_pin(&mut self, id: SchemaId, node: &str) -> StoreResult<bool>;
}

/// Why a layout is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutRefusal {
    NoSchema,
    /// Another revision stands there; 0 is none.
    Conflict {
        revision: u64,
    },
}

/// Writes a layout over the one of a revision, or over any.
#[derive(Clone, Debug)]
pub struct PutLayout {
    pub schema_id: SchemaId,
    pub if_revision: Option<u64>,
    pub layout: String,
    pub updated_by: String,
    pub now: Timestamp,
}

#[async_trait]
impl Operation for PutLayout {
    type Answer = Result<StoredLayout, LayoutRefusal>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        if !rows.lock_schema(self.schema_id).await? {
            return Ok(Err(LayoutRefusal::NoSchema));
        }
        let known = rows.layout(self.schema_id).await?;
        let revision = known.map_or(0, |known| known.revision);
        if self.if_revision.is_some_and(|wanted| wanted != revision) {
            return Ok(Err(LayoutRefusal::Conflict { revision }));
        }
        let stored = StoredLayout {
            revision: revision + 1,
            layout: self.layout.clone(),
            updated_by: self.updated_by.clone(),
            updated_at: self.now,
        };
        rows.put_layout(self.schema_id, &stored).await?;
        Ok(Ok(stored))
    }
}

/// The layout of a schema, if one was written.
#[derive(Clone, Debug)]
pub struct ReadLayout {
    pub schema_id: SchemaId,
}

#[async_trait]
impl Operation for ReadLayout {
    type Answer = Option<StoredLayout>;

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.layout(self.schema_id).await
    }
}

/// Why a pin is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinRefusal {
    NoSchema,
    /// The schema has [`PINS_MAX`].
    TooMany,
    /// With it there would be more than [`PINS_BYTES_MAX`].
    TooLarge,
}

/// Writes the pin of a node, over the one it had.
#[derive(Clone, Debug)]
pub struct PutPin {
    pub schema_id: SchemaId,
    pub pin: Pin,
}

#[async_trait]
impl Operation for PutPin {
    type Answer = Result<(), PinRefusal>;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        if !rows.lock_schema(self.schema_id).await? {
            return Ok(Err(PinRefusal::NoSchema));
        }
        let mut others = rows.pin_heads(self.schema_id).await?;
        others.retain(|head| head.node_id != self.pin.node_id);
        if others.len() >= PINS_MAX {
            return Ok(Err(PinRefusal::TooMany));
        }
        let bytes: u64 = others.iter().map(|head| head.bytes).sum();
        if bytes + self.pin.output.len() as u64 > PINS_BYTES_MAX as u64 {
            return Ok(Err(PinRefusal::TooLarge));
        }
        rows.put_pin(self.schema_id, &self.pin).await?;
        Ok(Ok(()))
    }
}

/// Removes the pin of a node; `false`: there was none.
#[derive(Clone, Debug)]
pub struct RemovePin {
    pub schema_id: SchemaId,
    pub node_id: String,
}

#[async_trait]
impl Operation for RemovePin {
    type Answer = bool;

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.remove_pin(self.schema_id, &self.node_id).await
    }
}

/// All pins of a schema with their outputs, in order of node.
#[derive(Clone, Debug)]
pub struct ReadPins {
    pub schema_id: SchemaId,
}

#[async_trait]
impl Operation for ReadPins {
    type Answer = Vec<Pin>;

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.pins(self.schema_id).await
    }
}

/// The same without outputs.
#[derive(Clone, Debug)]
pub struct ListPins {
    pub schema_id: SchemaId,
}

#[async_trait]
impl Operation for ListPins {
    type Answer = Vec<PinHead>;

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.pin_heads(self.schema_id).await
    }
}

/// One pin of a schema.
#[derive(Clone, Debug)]
pub struct ReadPin {
    pub schema_id: SchemaId,
    pub node_id: String,
}

#[async_trait]
impl Operation for ReadPin {
    type Answer = Option<Pin>;

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        rows.pin(self.schema_id, &self.node_id).await
    }
}
