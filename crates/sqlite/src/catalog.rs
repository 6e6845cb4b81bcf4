//! Schemas and their versions.

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::{
    CatalogError, CatalogStore, PublishVersion, PublishedFacts, SaveMode, SaveSchema, SaveStep,
    SchemaRecord, SourceFormat, SourceText, StoreResult, VersionRecord, VersionText,
};
use pawl_kernel::schema::definition::LANGUAGE;
use pawl_kernel::time::Timestamp;
use pawl_kernel::user;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use crate::fault::JobResult;
use crate::{SqliteStore, editor, rows, sql, webhooks};

#[async_trait]
impl CatalogStore for SqliteStore {
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        self.writer
            .run(move |connection| match save.mode {
                SaveMode::Create => create(connection, &save),
                SaveMode::Update { id, if_version, .. } => {
                    update(connection, id, if_version, &save)
                }
            })
            .await?
    }

    async fn publish_version(&self, wanted: PublishVersion) -> Result<SchemaRecord, CatalogError> {
        self.writer
            .run(move |connection| publish_stored(connection, &wanted))
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
            .run(move |connection| version_of(connection, id, version))
            .await
    }

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool> {
        self.writer
            .run(move |connection| {
                let changed = connection
                    .prepare_cached(sql::SCHEMA_SET_ACTIVE)?
                    .execute(params![id.0.as_bytes(), active, now.as_micros()])?;
                webhooks::touch(connection, id)?;
                next_revision(connection)?;
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
                editor::remove(connection, id)?;
                next_revision(connection)?;
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
    let facts = save.facts(1);
    if let Some(taken) = taken(connection, save.id, &facts)? {
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
    webhooks::replace(connection, save.id, &facts.webhooks)?;
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
    let (version, add, publish) = match save.step(&schema, &text_of(connection, id, latest)?) {
        SaveStep::Keep => return Ok(Ok(schema)),
        SaveStep::Publish => (latest, false, true),
        SaveStep::Add { publish } => (latest + 1, true, publish),
    };
    let facts = save.facts(version);
    if publish && let Some(taken) = taken(connection, id, &facts)? {
        return Ok(Err(taken));
    }
    if add {
        insert_version(connection, id, version, save)?;
        connection
            .prepare_cached(sql::SCHEMA_UPDATE)?
            .execute(params![id.0.as_bytes(), version, save.now.as_micros()])?;
    }
    if publish {
        set_published(connection, id, &facts, save.now)?;
    }
    saved(connection, id)
}

fn publish_stored(connection: &Connection, wanted: &PublishVersion) -> JobResult<Saved> {
    let Some(schema) = by_id(connection, wanted.id)? else {
        return Ok(Err(CatalogError::NotFound));
    };
    let Some(version) = version_of(connection, wanted.id, wanted.version)? else {
        return Ok(Err(CatalogError::NoVersion(wanted.version)));
    };
    if schema.published_version == wanted.version {
        return Ok(Ok(schema));
    }
    let facts = version.facts(&schema.name);
    if let Some(taken) = taken(connection, wanted.id, &facts)? {
        return Ok(Err(taken));
    }
    set_published(connection, wanted.id, &facts, wanted.now)?;
    saved(connection, wanted.id)
}

/// The row and its webhooks become what the version says.
fn set_published(
    connection: &Connection,
    id: SchemaId,
    facts: &PublishedFacts,
    now: Timestamp,
) -> JobResult<()> {
    connection
        .prepare_cached(sql::SCHEMA_PUBLISH)?
        .execute(params![
            id.0.as_bytes(),
            facts.name,
            facts.description,
            facts.external_id,
            facts.version,
            now.as_micros()
        ])?;
    webhooks::replace(connection, id, &facts.webhooks)
}

/// Does another schema have the number or the requests that this one is to get?
fn taken(
    connection: &Connection,
    id: SchemaId,
    facts: &PublishedFacts,
) -> JobResult<Option<CatalogError>> {
    if let Some(external_id) = facts.external_id {
        let other = by_external_id(connection, external_id)?.filter(|other| other.id != id);
        if let Some(other) = other {
            let schema = other.name;
            return Ok(Some(CatalogError::ExternalIdTaken {
                external_id,
                schema,
            }));
        }
    }
    webhooks::taken(connection, id, &facts.webhooks)
}

fn saved(connection: &Connection, id: SchemaId) -> JobResult<Saved> {
    next_revision(connection)?;
    Ok(by_id(connection, id)?.ok_or(CatalogError::NotFound))
}

fn next_revision(connection: &Connection) -> JobResult<()> {
    connection
        .prepare_cached(sql::SCHEMA_REVISION_NEXT)?
        .execute([])?;
    Ok(())
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
            save.now.as_micros(),
            save.source.as_ref().map(|source| &source.text),
            save.source.as_ref().map(|source| source.format.name()),
            save.note
        ])?;
    Ok(())
}

fn text_of(connection: &Connection, id: SchemaId, version: u32) -> JobResult<VersionText> {
    let found = connection.prepare_cached(sql::VERSION_TEXT)?.query_row(
        params![id.0.as_bytes(), version],
        |row| {
            let text: Option<String> = row.get(1)?;
            let source = text.zip(source_format(row, 2)?);
            Ok(VersionText {
                hash: row.get(0)?,
                source: source.map(|(text, format)| SourceText { text, format }),
            })
        },
    )?;
    Ok(found)
}

fn version_of(
    connection: &Connection,
    id: SchemaId,
    version: u32,
) -> JobResult<Option<VersionRecord>> {
    let found = connection
        .prepare_cached(sql::VERSION_LOAD)?
        .query_row(params![id.0.as_bytes(), version], version_record)
        .optional()?;
    Ok(found)
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
        published_version: row.get(6)?,
        created_at: rows::time(row, 7)?,
        updated_at: rows::time(row, 8)?,
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
        source: row.get(8)?,
        source_format: source_format(row, 9)?,
        note: row.get(10)?,
    })
}

fn source_format(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<SourceFormat>> {
    let name: Option<String> = row.get(at)?;
    SourceFormat::from_stored(name.as_deref()).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(at, Type::Text, problem.into())
    })
}

fn owner(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Value>> {
    user::from_stored(row.get(at)?).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(at, Type::Text, problem.into())
    })
}
