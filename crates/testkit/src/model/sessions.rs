//! Sessions.

use std::collections::BTreeMap;

use async_trait::async_trait;

use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::sessions::{IDLE_MAX, LIFE_MAX, NewSession, SessionRecord, SessionStore};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::time::Timestamp;

use super::ModelStore;

pub(super) type Sessions = BTreeMap<KeyHash, SessionRecord>;

#[async_trait]
impl SessionStore for ModelStore {
    async fn add_session(&self, session: NewSession) -> StoreResult<()> {
        let sessions = &mut self.lock().sessions;
        let now = session.created_at;
        let (silent, old) = (now.minus(IDLE_MAX), now.minus(LIFE_MAX));
        sessions.retain(|_, known| known.used_at >= silent && known.created_at >= old);
        if sessions.contains_key(&session.hash) {
            return Err(StoreError::Rejected("the hash is taken".into()));
        }
        sessions.insert(session.hash, session.into());
        Ok(())
    }

    async fn session(&self, hash: KeyHash) -> StoreResult<Option<SessionRecord>> {
        Ok(self.lock().sessions.get(&hash).copied())
    }

    async fn touch_session(
        &self,
        hash: KeyHash,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        let mut tables = self.lock();
        let known = tables.sessions.get_mut(&hash);
        let due = known.filter(|session| session.used_at <= unless_after);
        Ok(due.map(|session| session.used_at = now).is_some())
    }

    async fn end_session(&self, hash: KeyHash) -> StoreResult<bool> {
        Ok(self.lock().sessions.remove(&hash).is_some())
    }
}
