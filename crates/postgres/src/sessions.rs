//! Sessions. Like keys, they are known by hashes only.

use async_trait::async_trait;
use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::sessions::{IDLE_MAX, LIFE_MAX, NewSession, SessionRecord, SessionStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::value::Time;
use crate::{PostgresStore, sql};

#[async_trait]
impl SessionStore for PostgresStore {
    async fn add_session(&self, session: NewSession) -> StoreResult<()> {
        let done = self.writers.run(move |connection| async move {
            let now = session.created_at;
            let (silent, old) = (now.minus(IDLE_MAX), now.minus(LIFE_MAX));
            connection
                .alone(&sql::SESSIONS_FORGET, &[&Time(silent), &Time(old)])
                .await?;
            let (hash, key_hash) = (session.hash.0.as_slice(), session.key_hash.0.as_slice());
            connection
                .alone(&sql::SESSION_INSERT, &[&hash, &key_hash, &Time(now)])
                .await?;
            Ok(())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn session(&self, hash: KeyHash) -> StoreResult<Option<SessionRecord>> {
        let done = self.readers.run(move |connection| async move {
            let rows = connection
                .alone(&sql::SESSION_LOAD, &[&hash.0.as_slice()])
                .await?;
            rows.first().map(record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn touch_session(
        &self,
        hash: KeyHash,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        let done = self.writers.run(move |connection| async move {
            let hash = hash.0.as_slice();
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                [&hash, &Time(now), &Time(unless_after)];
            let rows = connection.alone(&sql::SESSION_TOUCH, &values).await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn end_session(&self, hash: KeyHash) -> StoreResult<bool> {
        let done = self.writers.run(move |connection| async move {
            let rows = connection
                .alone(&sql::SESSION_END, &[&hash.0.as_slice()])
                .await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

fn record(row: &Row) -> Outcome<SessionRecord> {
    let mut reader = Reader::new(row);
    let hash: &[u8] = reader.get()?;
    let hash = <[u8; 32]>::try_from(hash);
    let hash = hash.map_err(|_| Fault::Corrupt("the hash of a key has no 32 bytes".into()))?;
    Ok(SessionRecord {
        key_hash: KeyHash(hash),
        created_at: reader.time()?,
        used_at: reader.time()?,
    })
}
