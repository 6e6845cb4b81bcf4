//! API keys. The hash is only ever compared: it goes in and never comes out.

use async_trait::async_trait;
use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyStore, NewKey, Role};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::{SqliteStore, rows, sql};

#[async_trait]
impl KeyStore for SqliteStore {
    async fn add_key(&self, key: NewKey) -> Result<KeyRecord, KeyError> {
        self.writer
            .run(move |connection| add(connection, &key))
            .await?
    }

    async fn key_by_hash(&self, hash: KeyHash) -> StoreResult<Option<KeyRecord>> {
        self.readers
            .run(move |connection| find(connection, sql::KEY_BY_HASH, [hash.0]))
            .await
    }

    async fn key(&self, key: &str) -> StoreResult<Option<KeyRecord>> {
        let key = key.to_owned();
        self.readers
            .run(move |connection| match key.parse::<KeyId>() {
                Ok(id) => by_id(connection, id),
                Err(_) => by_name(connection, &key),
            })
            .await
    }

    async fn keys(&self, before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>> {
        self.readers
            .run(move |connection| {
                let before = before.map_or(Uuid::max(), |id| id.0);
                let mut statement = connection.prepare_cached(sql::KEYS_BEFORE)?;
                let found = statement.query_map(params![before.as_bytes(), limit], record)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn revoke_key(&self, id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>> {
        self.writer
            .run(move |connection| {
                connection
                    .prepare_cached(sql::KEY_REVOKE)?
                    .execute(params![id.0.as_bytes(), now.as_micros()])?;
                by_id(connection, id)
            })
            .await
    }

    async fn touch_key(
        &self,
        id: KeyId,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let times = params![id.0.as_bytes(), now.as_micros(), unless_after.as_micros()];
                let changed = connection.prepare_cached(sql::KEY_TOUCH)?.execute(times)?;
                Ok(changed > 0)
            })
            .await
    }
}

fn add(connection: &Connection, key: &NewKey) -> JobResult<Result<KeyRecord, KeyError>> {
    if by_name(connection, &key.name)?.is_some() {
        return Ok(Err(KeyError::NameTaken(key.name.clone())));
    }
    connection
        .prepare_cached(sql::KEY_INSERT)?
        .execute(params![
            key.id.0.as_bytes(),
            key.name,
            key.role.name(),
            key.hash.0,
            key.email,
            key.created_by,
            key.created_at.as_micros(),
            key.expires_at.map(Timestamp::as_micros)
        ])?;
    Ok(Ok(KeyRecord::from(key.clone())))
}

fn by_id(connection: &Connection, id: KeyId) -> JobResult<Option<KeyRecord>> {
    find(connection, sql::KEY_BY_ID, [id.0.as_bytes()])
}

fn by_name(connection: &Connection, name: &str) -> JobResult<Option<KeyRecord>> {
    find(connection, sql::KEY_BY_NAME, [name])
}

fn find(connection: &Connection, text: &str, by: impl Params) -> JobResult<Option<KeyRecord>> {
    let mut statement = connection.prepare_cached(text)?;
    Ok(statement.query_row(by, record).optional()?)
}

fn record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    Ok(KeyRecord {
        id: KeyId(rows::uuid(row, 0)?),
        name: row.get(1)?,
        role: role(row, 2)?,
        email: row.get(3)?,
        created_by: row.get(4)?,
        created_at: rows::time(row, 5)?,
        expires_at: rows::optional_time(row, 6)?,
        last_used_at: rows::optional_time(row, 7)?,
        revoked_at: rows::optional_time(row, 8)?,
    })
}

/// A role that this program does not know opens nothing.
fn role(row: &Row<'_>, at: usize) -> rusqlite::Result<Role> {
    let name: String = row.get(at)?;
    Role::from_name(&name).ok_or_else(|| {
        let problem = format!("`{name}` is no role that this program knows");
        rusqlite::Error::FromSqlConversionFailure(at, Type::Text, problem.into())
    })
}
