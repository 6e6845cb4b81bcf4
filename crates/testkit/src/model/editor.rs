//! What editors keep beside the versions of a schema.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::operations::{EditorRows, Pin, PinHead, StoredLayout};
use pawl_kernel::ports::store::StoreResult;

use super::tables::Tables;

#[derive(Default)]
pub(super) struct Drawings {
    layouts: BTreeMap<SchemaId, StoredLayout>,
    pins: BTreeMap<(SchemaId, String), Pin>,
}

impl Drawings {
    pub(super) fn remove(&mut self, id: SchemaId) {
        self.layouts.remove(&id);
        self.pins.retain(|(schema, _), _| *schema != id);
    }

    fn of(&self, id: SchemaId) -> impl Iterator<Item = &Pin> {
        let all = self.pins.iter();
        all.filter(move |((schema, _), _)| *schema == id)
            .map(|(_, pin)| pin)
    }
}

#[async_trait]
impl EditorRows for Tables {
    async fn lock_schema(&mut self, id: SchemaId) -> StoreResult<bool> {
        Ok(self.catalog.has(id))
    }

    async fn layout(&mut self, id: SchemaId) -> StoreResult<Option<StoredLayout>> {
        Ok(self.drawings.layouts.get(&id).cloned())
    }

    async fn put_layout(&mut self, id: SchemaId, layout: &StoredLayout) -> StoreResult<()> {
        self.drawings.layouts.insert(id, layout.clone());
        Ok(())
    }

    async fn pins(&mut self, id: SchemaId) -> StoreResult<Vec<Pin>> {
        Ok(self.drawings.of(id).cloned().collect())
    }

    async fn pin_heads(&mut self, id: SchemaId) -> StoreResult<Vec<PinHead>> {
        let head = |pin: &Pin| PinHead {
            node_id: pin.node_id.clone(),
            handle: pin.handle.clone(),
            bytes: pin.output.len() as u64,
            updated_by: pin.updated_by.clone(),
            updated_at: pin.updated_at,
        };
        Ok(self.drawings.of(id).map(head).collect())
    }

    async fn pin(&mut self, id: SchemaId, node: &str) -> StoreResult<Option<Pin>> {
        Ok(self.drawings.pins.get(&(id, node.to_owned())).cloned())
    }

    async fn put_pin(&mut self, id: SchemaId, pin: &Pin) -> StoreResult<()> {
        let key = (id, pin.node_id.clone());
        self.drawings.pins.insert(key, pin.clone());
        Ok(())
    }

    async fn remove_pin(&mut self, id: SchemaId, node: &str) -> StoreResult<bool> {
        Ok(self.drawings.pins.remove(&(id, node.to_owned())).is_some())
    }
}
