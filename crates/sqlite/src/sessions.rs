//! Sessions. Like keys, they are known by hashes only.

use async_trait::async_trait;
use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::sessions::{IDLE_MAX, LIFE_MAX, NewSession, SessionRecord, SessionStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{SqliteStore, rows, sql};

#[async_trait]
impl SessionStore for SqliteStore {
    async fn add_session(&self, session: NewSession) -> StoreResult<()> {
        self.writer
            .run(move |connection| {
                let now = session.created_at;
                let (silent, old) = (now.minus(IDLE_MAX), now.minus(LIFE_MAX));
                connection
                    .prepare_cached(sql::SESSIONS_FORGET)?
                    .execute(params![silent.as_micros(), old.as_micros()])?;
                connection
                    .prepare_cached(sql::SESSION_INSERT)?
                    .execute(params![session.hash.0, session.key_hash.0, now.as_micros()])?;
                Ok(())
            })
            .await
    }

    async fn session(&self, hash: KeyHash) -> StoreResult<Option<SessionRecord>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SESSION_LOAD)?;
                let found = statement.query_row([hash.0], |row| {
                    Ok(SessionRecord {
                        key_hash: KeyHash(row.get(0)?),
                        created_at: rows::time(row, 1)?,
                        used_at: rows::time(row, 2)?,
                    })
                });
                Ok(found.optional()?)
            })
            .await
    }

    async fn touch_session(
        &self,
        hash: KeyHash,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let values = params![hash.0, now.as_micros(), unless_after.as_micros()];
                let mut statement = connection.prepare_cached(sql::SESSION_TOUCH)?;
                Ok(statement.execute(values)? > 0)
            })
            .await
    }

    async fn end_session(&self, hash: KeyHash) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SESSION_END)?;
                Ok(statement.execute([hash.0])? > 0)
            })
            .await
    }
}
