//! Webhooks: rows that follow the published version of their schema, and the answers of executions.

use async_trait::async_trait;
use pawl_kernel::execution::StepStatus;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{CatalogError, StoreResult};
use pawl_kernel::ports::webhooks::{WebhookRow, WebhookStore};
use pawl_kernel::webhook::{NamedTrigger, answer};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::JobResult;
use crate::{SqliteStore, rows, sql};

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn webhook_revision(&self) -> StoreResult<u64> {
        self.readers.run(|connection| revision(connection)).await
    }

    async fn webhooks(&self) -> StoreResult<(u64, Vec<WebhookRow>)> {
        self.readers
            .run(move |connection| {
                let revision = revision(connection)?;
                let mut statement = connection.prepare_cached(sql::WEBHOOKS_LIST)?;
                let found = statement.query_map([], webhook_row)?;
                Ok((revision, found.collect::<Result<_, _>>()?))
            })
            .await
    }

    async fn webhooks_of(&self, schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>> {
        self.readers
            .run_at_once(move |connection| {
                let mut found = Vec::new();
                let mut statement = connection.prepare_cached(sql::WEBHOOKS_OF_SCHEMA)?;
                for id in &schemas {
                    let rows = statement.query_map([id.0.as_bytes()], webhook_row)?;
                    found.extend(rows.collect::<Result<Vec<_>, _>>()?);
                }
                Ok(found)
            })
            .await
    }

    async fn answer_of(&self, id: ExecutionId) -> StoreResult<Option<String>> {
        self.readers
            .run(move |connection| {
                let wanted = params![
                    id.0.as_bytes(),
                    answer::NODE_TYPE,
                    StepStatus::Success.code()
                ];
                let found = connection
                    .prepare_cached(sql::ANSWER_FIRST)?
                    .query_row(wanted, |row| row.get::<_, Option<String>>(0))
                    .optional()?;
                Ok(found.flatten())
            })
            .await
    }
}

fn revision(connection: &Connection) -> JobResult<u64> {
    let mut statement = connection.prepare_cached(sql::WEBHOOK_REVISION_READ)?;
    Ok(statement.query_row([], |row| row.get::<_, i64>(0))? as u64)
}

/// Does another schema take requests of one of these?
pub(crate) fn taken(
    connection: &Connection,
    id: SchemaId,
    wanted: &[NamedTrigger],
) -> JobResult<Option<CatalogError>> {
    for one in wanted {
        let (method, path) = (one.trigger.method.name(), &one.trigger.path);
        let other: Option<String> = connection
            .prepare_cached(sql::WEBHOOK_TAKEN)?
            .query_row(params![id.0.as_bytes(), path.shape(), method], |row| {
                row.get(0)
            })
            .optional()?;
        if let Some(schema) = other {
            return Ok(Some(CatalogError::PathTaken {
                method,
                path: path.to_string(),
                schema,
            }));
        }
    }
    Ok(None)
}

/// Makes the rows of a schema these.
pub(crate) fn replace(
    connection: &Connection,
    id: SchemaId,
    wanted: &[NamedTrigger],
) -> JobResult<()> {
    let removed = connection
        .prepare_cached(sql::WEBHOOKS_DELETE)?
        .execute([id.0.as_bytes()])?;
    for one in wanted {
        let trigger = &one.trigger;
        connection
            .prepare_cached(sql::WEBHOOK_INSERT)?
            .execute(params![
                id.0.as_bytes(),
                one.name,
                trigger.method.name(),
                trigger.path.to_string(),
                trigger.path.shape(),
                one.source.to_string()
            ])?;
    }
    if removed > 0 || !wanted.is_empty() {
        next_revision(connection)?;
    }
    Ok(())
}

/// Something about the schema has changed that its webhooks show.
pub(crate) fn touch(connection: &Connection, id: SchemaId) -> JobResult<()> {
    let known: bool = connection
        .prepare_cached(sql::WEBHOOKS_KNOWN)?
        .query_row([id.0.as_bytes()], |row| row.get(0))?;
    if known {
        next_revision(connection)?;
    }
    Ok(())
}

fn next_revision(connection: &Connection) -> JobResult<()> {
    connection
        .prepare_cached(sql::WEBHOOK_REVISION_NEXT)?
        .execute([])?;
    Ok(())
}

fn webhook_row(row: &Row<'_>) -> rusqlite::Result<WebhookRow> {
    Ok(WebhookRow {
        schema_id: SchemaId(rows::uuid(row, 0)?),
        schema: row.get(1)?,
        version: row.get(2)?,
        active: row.get(3)?,
        name: row.get(4)?,
        definition: row.get(5)?,
    })
}
