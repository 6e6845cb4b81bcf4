//! API keys.

use std::collections::BTreeMap;
use std::ops::Bound;

use async_trait::async_trait;

use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyStore, NewKey};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::time::Timestamp;

use super::ModelStore;

#[derive(Default)]
pub(super) struct Keys {
    rows: BTreeMap<KeyId, (KeyRecord, KeyHash)>,
}

impl Keys {
    fn live(&self, name: &str) -> Option<&KeyRecord> {
        let mut records = self.rows.values().map(|(record, _)| record);
        records.find(|record| record.name == name && record.revoked_at.is_none())
    }

    fn add(&mut self, key: NewKey) -> Result<KeyRecord, KeyError> {
        if self.live(&key.name).is_some() {
            return Err(KeyError::NameTaken(key.name));
        }
        let known = self.rows.contains_key(&key.id)
            || self.rows.values().any(|(_, hash)| *hash == key.hash);
        if known {
            return Err(StoreError::Rejected("id or hash is taken".into()).into());
        }
        let (hash, record) = (key.hash, KeyRecord::from(key));
        self.rows.insert(record.id, (record.clone(), hash));
        Ok(record)
    }
}

#[async_trait]
impl KeyStore for ModelStore {
    async fn add_key(&self, key: NewKey) -> Result<KeyRecord, KeyError> {
        self.lock().api_keys.add(key)
    }

    async fn key_by_hash(&self, hash: KeyHash) -> StoreResult<Option<KeyRecord>> {
        let tables = self.lock();
        let mut rows = tables.api_keys.rows.values();
        let found = rows.find(|(_, own)| *own == hash);
        Ok(found.map(|(record, _)| record.clone()))
    }

    async fn key(&self, key: &str) -> StoreResult<Option<KeyRecord>> {
        let tables = self.lock();
        let keys = &tables.api_keys;
        Ok(match key.parse::<KeyId>() {
            Ok(id) => keys.rows.get(&id).map(|(record, _)| record.clone()),
            Err(_) => keys.live(key).cloned(),
        })
    }

    async fn keys(&self, before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>> {
        let tables = self.lock();
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = tables.api_keys.rows.range((Bound::Unbounded, end)).rev();
        Ok(rows
            .map(|(_, (record, _))| record.clone())
            .take(limit as usize)
            .collect())
    }

    async fn revoke_key(&self, id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>> {
        let mut tables = self.lock();
        let row = tables.api_keys.rows.get_mut(&id);
        Ok(row.map(|(record, _)| {
            record.revoked_at.get_or_insert(now);
            record.clone()
        }))
    }

    async fn touch_key(
        &self,
        id: KeyId,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        let mut tables = self.lock();
        let row = tables.api_keys.rows.get_mut(&id);
        let due = row.filter(|(record, _)| record.last_used_at.is_none_or(|at| at <= unless_after));
        Ok(due
            .map(|(record, _)| record.last_used_at = Some(now))
            .is_some())
    }
}
