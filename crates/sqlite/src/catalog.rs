//! Schemas and their versions.

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::{
    CatalogError, CatalogStore, SaveMode, SaveSchema, SchemaRecord, StoreResult, VersionRecord,
};
use pawl_kernel::schema::definition::LANGUAGE;
use pawl_kernel::time::Timestamp;
use pawl_kernel::user;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use crate::fault::JobResult;
use crate::{SqliteStore, rows, sql, webhooks};

#[async_trait]
impl CatalogStore for SqliteStore {
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        self.writer
            .run(move |connection| match save.mode {
                SaveMode::Create => create(connection, &save),
                SaveMode::Update { id, if_version } => update(connection, id, if_version, &save),
            })
            .await?
    }

    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>> {
        let key = key.to_owned();
        self.readers
            .run(move |connection| match key.parse::<SchemaId>() {
                Ok(id) => by_id(connection, id),
                Err(_) => by_name(connection, &key),
            })
            .await
    }

    async fn schema_by_external_id(&self, external_id: i64) -> StoreResult<Option<SchemaRecord>> {
        self.readers
            .run(move |connection| by_external_id(connection, external_id))
            .await
    }

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SCHEMAS_LIST)?;
                let found = statement.query_map(params![after, text, limit], schema_record)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn versions(&self, id: SchemaId) -> StoreResult<Vec<VersionRecord>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::VERSIONS_LIST)?;
                let found = statement.query_map([id.0.as_bytes()], version_record)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn version(&self, id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>> {
        self.readers
            .run(move |connection| {
                let found = connection
                    .prepare_cached(sql::VERSION_LOAD)?
                    .query_row(params![id.0.as_bytes(), version], version_record)
                    .optional()?;
                Ok(found)
            })
            .await
    }

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let changed = connection
                    .prepare_cached(sql::SCHEMA_SET_ACTIVE)?
                    .execute(params![id.0.as_bytes(), active, now.as_micros()])?;
                webhooks::touch(connection, id)?;
                Ok(changed > 0)
            })
            .await
    }

    async fn delete_schema(&self, id: SchemaId, now: Timestamp) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let changed = connection
                    .prepare_cached(sql::SCHEMA_DELETE)?
                    .execute(params![id.0.as_bytes(), now.as_micros()])?;
                webhooks::replace(connection, id, &[])?;
                Ok(changed > 0)
            })
            .await
    }
}

type Saved = Result<SchemaRecord, CatalogError>;

fn create(connection: &Connection, save: &SaveSchema) -> JobResult<Saved> {
    if by_name(connection, &save.name)?.is_some() {
        return Ok(Err(CatalogError::NameTaken(save.name.clone())));
    }
    // Before anything is written: a refusal is no error that would undo it.
    if let Some(taken) = number_taken(connection, save.id, save)? {
        return Ok(Err(taken));
    }
    let wanted = save.webhooks();
    if let Some(taken) = webhooks::taken(connection, save.id, &wanted)? {
        return Ok(Err(taken));
    }
    connection
        .prepare_cached(sql::SCHEMA_INSERT)?
        .execute(params![
            save.id.0.as_bytes(),
            save.name,
            save.description,
            save.now.as_micros(),
            save.external_id()
        ])?;
    insert_version(connection, save.id, 1, save)?;
    webhooks::replace(connection, save.id, &wanted)?;
    saved(connection, save.id)
}

fn update(
    connection: &Connection,
    id: SchemaId,
    if_version: Option<u32>,
    save: &SaveSchema,
) -> JobResult<Saved> {
    let Some(schema) = by_id(connection, id)? else {
        return Ok(Err(CatalogError::NotFound));
    };
    let latest = schema.latest_version;
    if let Some(expected) = if_version.filter(|expected| *expected != latest) {
        return Ok(Err(CatalogError::VersionConflict { latest, expected }));
    }
    if by_name(connection, &save.name)?.is_some_and(|other| other.id != id) {
        return Ok(Err(CatalogError::NameTaken(save.name.clone())));
    }
    if hash_of(connection, id, latest)? == save.hash {
        return Ok(Ok(schema));
    }
    if let Some(taken) = number_taken(connection, id, save)? {
        return Ok(Err(taken));
    }
    let wanted = save.webhooks();
    if let Some(taken) = webhooks::taken(connection, id, &wanted)? {
        return Ok(Err(taken));
    }
    insert_version(connection, id, latest + 1, save)?;
    connection
        .prepare_cached(sql::SCHEMA_UPDATE)?
        .execute(params![
            id.0.as_bytes(),
            save.name,
            save.description,
            latest + 1,
            save.now.as_micros(),
            save.external_id()
        ])?;
    webhooks::replace(connection, id, &wanted)?;
    saved(connection, id)
}

/// Does another schema have the number that this one is to get?
fn number_taken(
    connection: &Connection,
    id: SchemaId,
    save: &SaveSchema,
) -> JobResult<Option<CatalogError>> {
    let Some(external_id) = save.external_id() else {
        return Ok(None);
    };
    let other = by_external_id(connection, external_id)?.filter(|other| other.id != id);
    Ok(other.map(|other| CatalogError::ExternalIdTaken {
        external_id,
        schema: other.name,
    }))
}

fn saved(connection: &Connection, id: SchemaId) -> JobResult<Saved> {
    Ok(by_id(connection, id)?.ok_or(CatalogError::NotFound))
}

fn insert_version(
    connection: &Connection,
    id: SchemaId,
    version: u32,
    save: &SaveSchema,
) -> JobResult<()> {
    connection
        .prepare_cached(sql::VERSION_INSERT)?
        .execute(params![
            id.0.as_bytes(),
            version,
            LANGUAGE,
            save.hash,
            save.definition,
            save.created_by.name,
            save.created_by.user_to_stored(),
            save.now.as_micros()
        ])?;
    Ok(())
}

fn hash_of(connection: &Connection, id: SchemaId, version: u32) -> JobResult<String> {
    let hash = connection
        .prepare_cached(sql::VERSION_HASH)?
        .query_row(params![id.0.as_bytes(), version], |row| row.get(0))?;
    Ok(hash)
}

fn by_id(connection: &Connection, id: SchemaId) -> JobResult<Option<SchemaRecord>> {
    let found = connection
        .prepare_cached(sql::SCHEMA_BY_ID)?
        .query_row([id.0.as_bytes()], schema_record)
        .optional()?;
    Ok(found)
}

fn by_name(connection: &Connection, name: &str) -> JobResult<Option<SchemaRecord>> {
    let found = connection
        .prepare_cached(sql::SCHEMA_BY_NAME)?
        .query_row([name], schema_record)
        .optional()?;
    Ok(found)
}

fn by_external_id(connection: &Connection, external_id: i64) -> JobResult<Option<SchemaRecord>> {
    let found = connection
        .prepare_cached(sql::SCHEMA_BY_EXTERNAL_ID)?
        .query_row([external_id], schema_record)
        .optional()?;
    Ok(found)
}

fn schema_record(row: &Row<'_>) -> rusqlite::Result<SchemaRecord> {
    Ok(SchemaRecord {
        id: SchemaId(rows::uuid(row, 0)?),
        name: row.get(1)?,
        description: row.get(2)?,
        external_id: row.get(3)?,
        active: row.get(4)?,
        latest_version: row.get(5)?,
        created_at: rows::time(row, 6)?,
        updated_at: rows::time(row, 7)?,
    })
}

fn version_record(row: &Row<'_>) -> rusqlite::Result<VersionRecord> {
    Ok(VersionRecord {
        schema_id: SchemaId(rows::uuid(row, 0)?),
        version: row.get(1)?,
        language: row.get(2)?,
        hash: row.get(3)?,
        definition: row.get(4)?,
        created_by: row.get(5)?,
        owner: owner(row, 6)?,
        created_at: rows::time(row, 7)?,
    })
}

fn owner(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Value>> {
    user::from_stored(row.get(at)?).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(at, Type::Text, problem.into())
    })
}
