//! API keys. The hash is only ever compared: it goes in and never comes out.

use async_trait::async_trait;
use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyStore, NewKey, Role};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::value::{Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl KeyStore for PostgresStore {
    async fn add_key(&self, key: NewKey) -> Result<KeyRecord, KeyError> {
        let new = key.clone();
        let done = self.writers.run(move |session| async move {
            let rows = session
                .alone(
                    &sql::KEY_INSERT,
                    &[
                        &new.id.0,
                        &Text::new(&new.name),
                        &new.role.name(),
                        &new.hash.0.as_slice(),
                        &new.email.as_deref().map(Text::new),
                        &Text::new(&new.created_by),
                        &Time(new.created_at),
                        &new.expires_at.map(Time),
                    ],
                )
                .await?;
            Ok(!rows.is_empty())
        });
        match done.await.map_err(|fault| fault.of_write())? {
            true => Ok(KeyRecord::from(key)),
            false => Err(KeyError::NameTaken(key.name)),
        }
    }

    async fn key_by_hash(&self, hash: KeyHash) -> StoreResult<Option<KeyRecord>> {
        let done = self.readers.run(move |session| async move {
            let rows = session
                .alone(&sql::KEY_BY_HASH, &[&hash.0.as_slice()])
                .await?;
            rows.first().map(record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn key(&self, key: &str) -> StoreResult<Option<KeyRecord>> {
        let key = key.to_owned();
        let done = self.readers.run(move |session| async move {
            let rows = match key.parse::<KeyId>() {
                Ok(id) => session.alone(&sql::KEY_BY_ID, &[&id.0]).await?,
                Err(_) => {
                    let name = Text::new(&key);
                    session.alone(&sql::KEY_BY_NAME, &[&name]).await?
                }
            };
            rows.first().map(record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn keys(&self, before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>> {
        let done = self.readers.run(move |session| async move {
            let before = before.map_or(Uuid::max(), |id| id.0);
            let rows = session
                .alone(&sql::KEYS_BEFORE, &[&before, &i64::from(limit)])
                .await?;
            rows.iter().map(record).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn revoke_key(&self, id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>> {
        let done = self.writers.run(move |session| async move {
            session
                .alone(&sql::KEY_REVOKE, &[&id.0, &Time(now)])
                .await?;
            let rows = session.alone(&sql::KEY_BY_ID, &[&id.0]).await?;
            rows.first().map(record).transpose()
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn touch_key(
        &self,
        id: KeyId,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        let done = self.writers.run(move |session| async move {
            let rows = session
                .alone(&sql::KEY_TOUCH, &[&id.0, &Time(now), &Time(unless_after)])
                .await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

fn record(row: &Row) -> Outcome<KeyRecord> {
    let mut reader = Reader::new(row);
    Ok(KeyRecord {
        id: KeyId(reader.get()?),
        name: reader.text()?,
        role: role(&reader.text()?)?,
        email: reader.optional_text()?,
        created_by: reader.text()?,
        created_at: reader.time()?,
        expires_at: reader.optional_time()?,
        last_used_at: reader.optional_time()?,
        revoked_at: reader.optional_time()?,
    })
}

/// A role that this program does not know opens nothing.
fn role(name: &str) -> Outcome<Role> {
    Role::from_name(name)
        .ok_or_else(|| Fault::Corrupt(format!("`{name}` is no role that this program knows")))
}
