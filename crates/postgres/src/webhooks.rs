//! Webhooks: rows that follow the published version of their schema, and the answers of executions.

use async_trait::async_trait;
use pawl_kernel::execution::StepStatus;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{CatalogError, StoreResult};
use pawl_kernel::ports::webhooks::{WebhookRow, WebhookStore};
use pawl_kernel::webhook::{NamedTrigger, answer};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::value::Text;
use crate::{PostgresStore, sql};

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn webhook_revision(&self) -> StoreResult<u64> {
        let done = self
            .readers
            .run(move |session| async move { revision(&session).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn webhooks(&self) -> StoreResult<(u64, Vec<WebhookRow>)> {
        let done = self.readers.run(move |session| async move {
            // First of all: what is read after it may be newer, and is then read again.
            let revision = revision(&session).await?;
            let rows = session.alone(&sql::WEBHOOKS_LIST, &[]).await?;
            let rows = rows.iter().map(webhook_row).collect::<Outcome<_>>()?;
            Ok((revision, rows))
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn webhooks_of(&self, schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>> {
        let done = self.readers.run(move |session| async move {
            let ids: Vec<Uuid> = schemas.iter().map(|id| id.0).collect();
            let rows = session.alone(&sql::WEBHOOKS_OF_SCHEMAS, &[&ids]).await?;
            rows.iter().map(webhook_row).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn answer_of(&self, id: ExecutionId) -> StoreResult<Option<String>> {
        let done = self.readers.run(move |session| async move {
            let status = StepStatus::Success.code() as i16;
            let rows = session
                .alone(&sql::ANSWER_FIRST, &[&id.0, &answer::NODE_TYPE, &status])
                .await?;
            match rows.first() {
                Some(row) => Reader::new(row).optional_text(),
                None => Ok(None),
            }
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

async fn revision(session: &Session) -> Outcome<u64> {
    let rows = session.alone(&sql::WEBHOOK_REVISION_READ, &[]).await?;
    match rows.first() {
        Some(row) => Reader::new(row).count(),
        None => Err(Fault::Corrupt("webhook_revision has no row".into())),
    }
}

/// Inside a transaction: makes the rows of a schema these, unless another one takes such requests.
pub(crate) async fn replace(
    session: &Session,
    id: SchemaId,
    wanted: &[NamedTrigger],
) -> Outcome<Option<CatalogError>> {
    if wanted.is_empty() && !known(session, id).await? {
        return Ok(None);
    }
    next_revision(session).await?;
    if let Some(taken) = taken(session, id, wanted).await? {
        return Ok(Some(taken));
    }
    session
        .ready(&[&sql::WEBHOOKS_DELETE, &sql::WEBHOOK_INSERT])
        .await?;
    session.rows(&sql::WEBHOOKS_DELETE, &[&id.0]).await?;
    for one in wanted {
        let trigger = &one.trigger;
        let (path, shape) = (trigger.path.to_string(), trigger.path.shape());
        session
            .rows(
                &sql::WEBHOOK_INSERT,
                &[
                    &id.0,
                    &Text::new(&one.name),
                    &trigger.method.name(),
                    &path,
                    &shape,
                    &Text::new(&one.source.to_string()),
                ],
            )
            .await?;
    }
    Ok(None)
}

/// Inside a transaction: something about the schema has changed that its webhooks show.
pub(crate) async fn touch(session: &Session, id: SchemaId) -> Outcome<()> {
    match known(session, id).await? {
        true => next_revision(session).await,
        false => Ok(()),
    }
}

async fn known(session: &Session, id: SchemaId) -> Outcome<bool> {
    session.ready(&[&sql::WEBHOOKS_KNOWN]).await?;
    let rows = session.rows(&sql::WEBHOOKS_KNOWN, &[&id.0]).await?;
    rows.first().map_or(Ok(false), |row| Reader::new(row).get())
}

async fn next_revision(session: &Session) -> Outcome<()> {
    session.ready(&[&sql::WEBHOOK_REVISION_NEXT]).await?;
    session.rows(&sql::WEBHOOK_REVISION_NEXT, &[]).await?;
    Ok(())
}

async fn taken(
    session: &Session,
    id: SchemaId,
    wanted: &[NamedTrigger],
) -> Outcome<Option<CatalogError>> {
    session.ready(&[&sql::WEBHOOK_TAKEN]).await?;
    for one in wanted {
        let (method, path) = (one.trigger.method.name(), &one.trigger.path);
        let rows = session
            .rows(&sql::WEBHOOK_TAKEN, &[&id.0, &path.shape(), &method])
            .await?;
        if let Some(row) = rows.first() {
            return Ok(Some(CatalogError::PathTaken {
                method,
                path: path.to_string(),
                schema: Reader::new(row).text()?,
            }));
        }
    }
    Ok(None)
}

fn webhook_row(row: &Row) -> Outcome<WebhookRow> {
    let mut reader = Reader::new(row);
    Ok(WebhookRow {
        schema_id: SchemaId(reader.get()?),
        schema: reader.text()?,
        version: reader.number()?,
        active: reader.get()?,
        name: reader.text()?,
        definition: reader.text()?,
    })
}
