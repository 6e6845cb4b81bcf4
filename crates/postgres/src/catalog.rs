//! Schemas and their versions.

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::{
    CatalogError, CatalogStore, PublishVersion, PublishedFacts, SaveMode, SaveSchema, SaveStep,
    SchemaRecord, SourceFormat, SourceText, StoreError, StoreResult, VersionRecord, VersionText,
};
use pawl_kernel::schema::definition::LANGUAGE;
use pawl_kernel::time::Timestamp;
use pawl_kernel::user;
use tokio_postgres::Row;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::value::{Text, Time};
use crate::{PostgresStore, editor, sql, webhooks};

#[async_trait]
impl CatalogStore for PostgresStore {
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        let external_id = save.external_id();
        let done = self.writers.run(move |session| async move {
            let saved = match save.mode {
                SaveMode::Create => create(&session, &save).await?,
                SaveMode::Update { id, if_version, .. } => {
                    update(&session, id, if_version, &save).await?
                }
            };
            close(&session, saved).await
        });
        match done.await {
            Ok(saved) => saved,
            Err(fault) if fault.violates(NUMBERS) => Err(self.number_taken(external_id).await?),
            Err(fault) => Err(fault.of_write().into()),
        }
    }

    async fn publish_version(&self, wanted: PublishVersion) -> Result<SchemaRecord, CatalogError> {
        let (id, version) = (wanted.id, wanted.version);
        let done = self.writers.run(move |session| async move {
            let saved = publish_stored(&session, &wanted).await?;
            close(&session, saved).await
        });
        match done.await {
            Ok(saved) => saved,
            Err(fault) if fault.violates(NUMBERS) => {
                let refused = self.version(id, version).await?;
                let external_id = refused.and_then(|refused| refused.facts("").external_id);
                Err(self.number_taken(external_id).await?)
            }
            Err(fault) => Err(fault.of_write().into()),
        }
    }

    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>> {
        let key = key.to_owned();
        let done = self.readers.run(move |session| async move {
            let rows = match key.parse::<SchemaId>() {
                Ok(id) => session.alone(&sql::SCHEMA_BY_ID, &[&id.0]).await?,
                Err(_) => {
                    let name = Text::new(&key);
                    session.alone(&sql::SCHEMA_BY_NAME, &[&name]).await?
                }
            };
            rows.first().map(schema_record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn schema_by_external_id(&self, external_id: i64) -> StoreResult<Option<SchemaRecord>> {
        let done = self.readers.run(move |session| async move {
            let rows = session
                .alone(&sql::SCHEMA_BY_EXTERNAL_ID, &[&external_id])
                .await?;
            rows.first().map(schema_record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>> {
        let done = self.readers.run(move |session| async move {
            let after = after.as_deref().map(Text::new);
            let text = text.as_deref().map(Text::new);
            let rows = session
                .alone(&sql::SCHEMAS_LIST, &[&after, &text, &i64::from(limit)])
                .await?;
            rows.iter().map(schema_record).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn versions(&self, id: SchemaId) -> StoreResult<Vec<VersionRecord>> {
        let done = self.readers.run(move |session| async move {
            let rows = session.alone(&sql::VERSIONS_LIST, &[&id.0]).await?;
            rows.iter().map(version_record).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn version(&self, id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>> {
        let done = self.readers.run(move |session| async move {
            let version = number(version);
            let rows = session
                .alone(&sql::VERSION_LOAD, &[&id.0, &version])
                .await?;
            rows.first().map(version_record).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool> {
        let done = self.writers.run(move |session| async move {
            let rows = session
                .begin_with(&sql::SCHEMA_SET_ACTIVE, &[&id.0, &active, &Time(now)])
                .await?;
            webhooks::touch(&session, id).await?;
            next_revision(&session).await?;
            session.commit().await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn delete_schema(&self, id: SchemaId, now: Timestamp) -> StoreResult<bool> {
        let done = self.writers.run(move |session| async move {
            let rows = session
                .begin_with(&sql::SCHEMA_DELETE, &[&id.0, &Time(now)])
                .await?;
            webhooks::replace(&session, id, &[]).await?;
            editor::remove(&session, id).await?;
            next_revision(&session).await?;
            session.commit().await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_write())
    }
}

type Saved = Result<SchemaRecord, CatalogError>;

/// No two schemas that are not deleted have the same number. The index decides, so that two who save at once cannot both
/// be right.
const NUMBERS: &str = "schemas_by_external_id";

impl PostgresStore {
    /// What to say after [`NUMBERS`] refused: whose the number is.
    async fn number_taken(&self, external_id: Option<i64>) -> StoreResult<CatalogError> {
        let external_id = external_id.unwrap_or_default();
        let owner = self.schema_by_external_id(external_id).await?;
        let Some(owner) = owner else {
            let message = format!("external_id {external_id} was just freed; try again");
            return Err(StoreError::Unavailable(message));
        };
        Ok(CatalogError::ExternalIdTaken {
            external_id,
            schema: owner.name,
        })
    }
}

/// Inside a transaction that the caller ends.
async fn create(session: &Session, save: &SaveSchema) -> Outcome<Saved> {
    let (name, description) = (
        Text::new(&save.name),
        save.description.as_deref().map(Text::new),
    );
    let rows = session
        .begin_with(
            &sql::SCHEMA_INSERT,
            &[
                &save.id.0,
                &name,
                &description,
                &Time(save.now),
                &save.external_id(),
            ],
        )
        .await?;
    if rows.is_empty() {
        return Ok(Err(CatalogError::NameTaken(save.name.clone())));
    }
    insert_version(session, save.id, 1, save).await?;
    if let Some(taken) = webhooks::replace(session, save.id, &save.webhooks()).await? {
        return Ok(Err(taken));
    }
    saved(session, save.id).await
}

async fn update(
    session: &Session,
    id: SchemaId,
    if_version: Option<u32>,
    save: &SaveSchema,
) -> Outcome<Saved> {
    let locked = session.begin_with(&sql::SCHEMA_LOCK, &[&id.0]).await?;
    let Some(schema) = locked.first().map(schema_record).transpose()? else {
        return Ok(Err(CatalogError::NotFound));
    };
    let latest = schema.latest_version;
    if let Some(expected) = if_version.filter(|expected| *expected != latest) {
        return Ok(Err(CatalogError::VersionConflict { latest, expected }));
    }
    if name_taken(session, id, &save.name).await? {
        return Ok(Err(CatalogError::NameTaken(save.name.clone())));
    }
    let (version, add, publish) = match save.step(&schema, &text_of(session, id, latest).await?) {
        SaveStep::Keep => return Ok(Ok(schema)),
        SaveStep::Publish => (latest, false, true),
        SaveStep::Add { publish } => (latest + 1, true, publish),
    };
    if add {
        insert_version(session, id, version, save).await?;
        let number = number(version);
        session.ready(&[&sql::SCHEMA_UPDATE]).await?;
        session
            .rows(&sql::SCHEMA_UPDATE, &[&id.0, &number, &Time(save.now)])
            .await?;
    }
    match publish {
        true => set_published(session, id, &save.facts(version), save.now).await,
        false => saved(session, id).await,
    }
}

async fn publish_stored(session: &Session, wanted: &PublishVersion) -> Outcome<Saved> {
    let id = wanted.id;
    let locked = session.begin_with(&sql::SCHEMA_LOCK, &[&id.0]).await?;
    let Some(schema) = locked.first().map(schema_record).transpose()? else {
        return Ok(Err(CatalogError::NotFound));
    };
    session.ready(&[&sql::VERSION_LOAD]).await?;
    let rows = session
        .rows(&sql::VERSION_LOAD, &[&id.0, &number(wanted.version)])
        .await?;
    let Some(version) = rows.first().map(version_record).transpose()? else {
        return Ok(Err(CatalogError::NoVersion(wanted.version)));
    };
    if schema.published_version == wanted.version {
        return Ok(Ok(schema));
    }
    set_published(session, id, &version.facts(&schema.name), wanted.now).await
}

/// The row and its webhooks become what the version says.
async fn set_published(
    session: &Session,
    id: SchemaId,
    facts: &PublishedFacts,
    now: Timestamp,
) -> Outcome<Saved> {
    let name = Text::new(&facts.name);
    let description = facts.description.as_deref().map(Text::new);
    session.ready(&[&sql::SCHEMA_PUBLISH]).await?;
    session
        .rows(
            &sql::SCHEMA_PUBLISH,
            &[
                &id.0,
                &name,
                &description,
                &facts.external_id,
                &number(facts.version),
                &Time(now),
            ],
        )
        .await?;
    if let Some(taken) = webhooks::replace(session, id, &facts.webhooks).await? {
        return Ok(Err(taken));
    }
    saved(session, id).await
}

/// A refusal leaves nothing behind.
async fn close(session: &Session, saved: Saved) -> Outcome<Saved> {
    match saved {
        Ok(_) => session.commit().await?,
        Err(_) => session.roll_back().await?,
    }
    Ok(saved)
}

async fn name_taken(session: &Session, id: SchemaId, name: &str) -> Outcome<bool> {
    session.ready(&[&sql::SCHEMA_BY_NAME]).await?;
    let rows = session
        .rows(&sql::SCHEMA_BY_NAME, &[&Text::new(name)])
        .await?;
    match rows.first() {
        None => Ok(false),
        Some(row) => Ok(schema_record(row)?.id != id),
    }
}

async fn saved(session: &Session, id: SchemaId) -> Outcome<Saved> {
    next_revision(session).await?;
    session.ready(&[&sql::SCHEMA_BY_ID]).await?;
    let rows = session.rows(&sql::SCHEMA_BY_ID, &[&id.0]).await?;
    let found = rows.first().map(schema_record).transpose()?;
    Ok(found.ok_or(CatalogError::NotFound))
}

/// The last row that a transaction writes: each that has it waits for nothing but its commit.
async fn next_revision(session: &Session) -> Outcome<()> {
    session.ready(&[&sql::SCHEMA_REVISION_NEXT]).await?;
    session.rows(&sql::SCHEMA_REVISION_NEXT, &[]).await?;
    Ok(())
}

async fn insert_version(
    session: &Session,
    id: SchemaId,
    version: u32,
    save: &SaveSchema,
) -> Outcome<()> {
    session.ready(&[&sql::VERSION_INSERT]).await?;
    let owner = save.created_by.user_to_stored();
    let source = save.source.as_ref();
    let format = source.map(|source| Text::new(source.format.name()));
    session
        .rows(
            &sql::VERSION_INSERT,
            &[
                &id.0,
                &number(version),
                &number(LANGUAGE),
                &Text::new(&save.hash),
                &Text::new(&save.definition),
                &Text::new(&save.created_by.name),
                &owner.as_deref().map(Text::new),
                &Time(save.now),
                &source.map(|source| Text::new(&source.text)),
                &format,
                &save.note.as_deref().map(Text::new),
            ],
        )
        .await?;
    Ok(())
}

async fn text_of(session: &Session, id: SchemaId, version: u32) -> Outcome<VersionText> {
    session.ready(&[&sql::VERSION_TEXT]).await?;
    let rows = session
        .rows(&sql::VERSION_TEXT, &[&id.0, &number(version)])
        .await?;
    let Some(row) = rows.first() else {
        return Err(Fault::Corrupt(format!(
            "version {version} of schema {id} is missing"
        )));
    };
    let mut reader = Reader::new(row);
    let hash = reader.text()?;
    let text = reader.optional_text()?;
    let source = text.zip(source_format(&mut reader)?);
    Ok(VersionText {
        hash,
        source: source.map(|(text, format)| SourceText { text, format }),
    })
}

fn source_format(reader: &mut Reader<'_>) -> Outcome<Option<SourceFormat>> {
    let name = reader.optional_text()?;
    SourceFormat::from_stored(name.as_deref()).map_err(Fault::Corrupt)
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn schema_record(row: &Row) -> Outcome<SchemaRecord> {
    let mut reader = Reader::new(row);
    Ok(SchemaRecord {
        id: SchemaId(reader.get()?),
        name: reader.text()?,
        description: reader.optional_text()?,
        external_id: reader.get()?,
        active: reader.get()?,
        latest_version: reader.number()?,
        published_version: reader.number()?,
        created_at: reader.time()?,
        updated_at: reader.time()?,
    })
}

fn version_record(row: &Row) -> Outcome<VersionRecord> {
    let mut reader = Reader::new(row);
    Ok(VersionRecord {
        schema_id: SchemaId(reader.get()?),
        version: reader.number()?,
        language: reader.number()?,
        hash: reader.text()?,
        definition: reader.text()?,
        created_by: reader.text()?,
        owner: user::from_stored(reader.optional_text()?).map_err(Fault::Corrupt)?,
        created_at: reader.time()?,
        source: reader.optional_text()?,
        source_format: source_format(&mut reader)?,
        note: reader.optional_text()?,
    })
}
