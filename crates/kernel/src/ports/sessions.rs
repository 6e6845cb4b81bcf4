//! Sessions as the store knows them: hashes of what cookies hold, each with the key that it was opened with. It ends with
//! that key.

use std::time::Duration;

use async_trait::async_trait;

use super::keys::KeyHash;
use super::store::StoreResult;
use crate::time::Timestamp;

/// A session that is not used for so long is over.
pub const IDLE_MAX: Duration = Duration::from_secs(12 * 3_600);
/// However much it is used, it is over after this time.
pub const LIFE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Of the secret in the cookie.
    pub hash: KeyHash,
    /// Of the key that opened it.
    pub key_hash: KeyHash,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    pub key_hash: KeyHash,
    pub created_at: Timestamp,
    /// Written at most once in a while, so it may be a little old.
    pub used_at: Timestamp,
}

impl From<NewSession> for SessionRecord {
    fn from(new: NewSession) -> Self {
        Self {
            key_hash: new.key_hash,
            created_at: new.created_at,
            used_at: new.created_at,
        }
    }
}

impl SessionRecord {
    pub fn idle_until(&self) -> Timestamp {
        self.used_at.plus(IDLE_MAX)
    }

    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus(LIFE_MAX)
    }

    /// Is it good at this moment, whatever became of its key?
    pub fn is_open(&self, now: Timestamp) -> bool {
        now < self.idle_until() && now < self.expires_at()
    }
}

#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Forgets those that are over by the way.
    async fn add_session(&self, session: NewSession) -> StoreResult<()>;

    /// Also one that is over, as long as it is not forgotten.
    async fn session(&self, hash: KeyHash) -> StoreResult<Option<SessionRecord>>;

    /// Notes that it was used, unless that was noted after `unless_after`; says whether it wrote.
    async fn touch_session(
        &self,
        hash: KeyHash,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool>;

    /// Says whether it was there.
    async fn end_session(&self, hash: KeyHash) -> StoreResult<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_silence_and_by_age() {
        let start = Timestamp::from_micros(0);
        let one_second = Duration::from_secs(1);
        let mut session = SessionRecord {
            key_hash: KeyHash([1; 32]),
            created_at: start,
            used_at: start,
        };
        assert!(session.is_open(start.plus(IDLE_MAX - one_second)));
        assert!(!session.is_open(start.plus(IDLE_MAX)));
        session.used_at = start.plus(LIFE_MAX - one_second);
        assert!(session.is_open(start.plus(LIFE_MAX - one_second)));
        assert!(!session.is_open(start.plus(LIFE_MAX)));
    }
}
