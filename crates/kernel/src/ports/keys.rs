//! API keys as the store knows them: a name, a role and the hash of a secret. Only the owner
//! sees the secret itself.

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::store::{StoreError, StoreResult};
use crate::id::KeyId;
use crate::time::Timestamp;

/// What a caller may do. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Looks at everything, changes nothing.
    Viewer,
    /// Starts executions and steers them.
    Operator,
    /// Changes what is run and when: schemas, schedules, quotas.
    Editor,
    /// Hands out keys.
    Admin,
}

impl Role {
    pub const ALL: &'static [Self] = &[Self::Viewer, Self::Operator, Self::Editor, Self::Admin];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }

    pub fn includes(self, needed: Self) -> bool {
        self >= needed
    }
}

/// SHA-256 of a key. The secret in it has 256 random bits, so nothing slower is needed, and a look-up by hash
/// tells a guesser nothing by the time it takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }

    /// Takes the same time whether they differ early or late.
    pub fn is(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(0, |difference, (one, two)| difference | (one ^ two)) == 0
    }
}

impl std::fmt::Debug for KeyHash {
    /// Not even the hash belongs in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub hash: KeyHash,
    /// Where its owner gets mail.
    pub email: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// A key without anything that could be used in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub email: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Written at most once in a while, so it may be a little old.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl From<NewKey> for KeyRecord {
    fn from(new: NewKey) -> Self {
        Self {
            id: new.id,
            name: new.name,
            role: new.role,
            email: new.email,
            created_by: new.created_by,
            created_at: new.created_at,
            expires_at: new.expires_at,
            last_used_at: None,
            revoked_at: None,
        }
    }
}

/// Why a key opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    Revoked,
    Expired,
}

impl KeyRecord {
    /// Is it good at this moment?
    pub fn check(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        if self.revoked_at.is_some() {
            return Err(KeyRefusal::Revoked);
        }
        match self.expires_at {
            Some(end) if now >= end => Err(KeyRefusal::Expired),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum KeyError {
    #[error("a key named `{0}` exists already; revoke it first or choose another name")]
    NameTaken(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[async_trait]
pub trait KeyStore: Send + Sync {
    /// A name belongs to one key at a time; that of a revoked key is free again.
    async fn add_key(&self, key: NewKey) -> Result<KeyRecord, KeyError>;

    /// Also a key that is revoked or has expired: the API tells its owner so.
    async fn key_by_hash(&self, hash: KeyHash) -> StoreResult<Option<KeyRecord>>;

    /// By id, or by name if `key` is no id. A name finds only a key that is not revoked.
    async fn key(&self, key: &str) -> StoreResult<Option<KeyRecord>>;

    /// All keys, newest first; `before` is the id the last page ended with.
    async fn keys(&self, before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>>;

    /// From then on it opens nothing. The first time counts; `None`: there is no such key.
    async fn revoke_key(&self, id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>>;

    /// Notes that it was used, unless that was noted after `unless_after`; says whether it wrote.
    async fn touch_key(
        &self,
        id: KeyId,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_those_before_it() {
        for (place, role) in Role::ALL.iter().enumerate() {
            assert_eq!(Role::from_name(role.name()), Some(*role));
            for (other, needed) in Role::ALL.iter().enumerate() {
                assert_eq!(
                    role.includes(*needed),
                    place >= other,
                    "{role:?} {needed:?}"
                );
            }
        }
        for unknown in ["", "Admin", "root", "viewer "] {
            assert_eq!(Role::from_name(unknown), None);
        }
    }

    #[test]
    fn a_hash_is_itself_and_nothing_else() {
        let one = KeyHash::of("a");
        assert!(one.is(&KeyHash::of("a")) && !one.is(&KeyHash::of("b")));
        for place in [0, 31] {
            let mut other = one;
            other.0[place] ^= 1;
            assert!(!one.is(&other));
        }
    }

    #[test]
    fn a_hash_does_not_show_itself() {
        assert_eq!(format!("{:?}", KeyHash([7; 32])), "KeyHash(…)");
    }
}
