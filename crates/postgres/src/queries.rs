//! Lists and details. A list is a page of ids, found along the index that fits the filter best, and then the rows.

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal, Status, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    ExecutionFilter, ExecutionView, LetterPulse, Pulse, QueryStore, SchemaPulse, StoreResult,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::lists::{self, Values};
use crate::rows::{self, Reader};
use crate::session::Session;
use crate::sql::Sql;
use crate::value::Text;
use crate::{PostgresStore, migrations, sql};

#[async_trait]
impl QueryStore for PostgresStore {
    async fn execution(&self, id: ExecutionId) -> StoreResult<Option<ExecutionView>> {
        let done = self.readers.run(move |session| async move {
            Ok(views(&session, &sql::EXECUTIONS_VIEW, vec![id.0])
                .await?
                .pop())
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let done = self.readers.run(move |session| async move {
            let ids = list(&session, &filter, before, limit).await?;
            views(&session, &sql::EXECUTIONS_VIEW, ids).await
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn count_executions(&self, filter: ExecutionFilter) -> StoreResult<u64> {
        let done = self
            .readers
            .run(move |session| async move { count(&session, &filter).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn steps(
        &self,
        id: ExecutionId,
        after_seq: u64,
        limit: u32,
    ) -> StoreResult<Vec<(Step, u64)>> {
        let done = self.readers.run(move |session| async move {
            let (after, limit) = (integer(after_seq), i64::from(limit));
            let rows = session
                .alone(&sql::STEPS_BETWEEN, &[&id.0, &after, &i64::MAX, &limit])
                .await?;
            rows.iter().map(rows::step).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn logs(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, LogRecord)>> {
        let done = self.readers.run(move |session| async move {
            let (after, limit) = (integer(after), i64::from(limit));
            let rows = session
                .alone(&sql::LOGS_AFTER, &[&id.0, &after, &limit])
                .await?;
            rows.iter().map(rows::log).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn signals(&self, id: ExecutionId) -> StoreResult<Vec<Signal>> {
        let done = self.readers.run(move |session| async move {
            let rows = session.alone(&sql::SIGNALS_ALL, &[&id.0]).await?;
            rows.iter().map(rows::signal).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn open_executions(
        &self,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let done = self.readers.run(move |session| async move {
            let open: Vec<i16> = Status::ALL
                .iter()
                .filter(|status| !status.is_terminal())
                .map(|status| status.code() as i16)
                .collect();
            let after = after.map_or(Uuid::nil(), |id| id.0);
            let rows = session
                .alone(
                    &sql::IDS_BY_STATUS_AFTER,
                    &[&open, &after, &i64::from(limit)],
                )
                .await?;
            views(&session, &sql::EXECUTIONS_VIEW, ids_of(&rows)?).await
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn timer_shards(&self, waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>> {
        let done = self.readers.run(move |session| async move {
            let mut shards = Vec::with_capacity(waits.len());
            for (id, wait_id) in waits {
                shards.push(timer_shard(&session, id, wait_id).await?);
            }
            Ok(shards)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn execution_by_key(&self, key: &str) -> StoreResult<Option<ExecutionId>> {
        let key = key.to_owned();
        let done = self.readers.run(move |session| async move {
            let key = Text::new(&key);
            let rows = session.alone(&sql::EXECUTION_BY_KEY, &[&key]).await?;
            let found = rows.first().map(|row| row.try_get(0).map(ExecutionId));
            Ok(found.transpose()?)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn about(&self) -> StoreResult<Vec<(String, String)>> {
        let (address, schema) = (self.connector.address(), self.connector.schema().to_owned());
        let done = self.readers.run(move |session| async move {
            let rows = session.alone(&sql::ABOUT, &[]).await?;
            about(&rows, address, schema)
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn pulse(&self) -> StoreResult<Pulse> {
        let done = self.readers.run(|session| async move {
            let rows = session.alone(&sql::PULSE, &[]).await?;
            Ok(rows.first().map(pulse).transpose()?.unwrap_or_default())
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

fn pulse(row: &Row) -> Outcome<Pulse> {
    let mut reader = Reader::new(row);
    let letters = LetterPulse {
        last_id: reader.count()?,
        open: reader.count()?,
    };
    let schemas = SchemaPulse {
        revision: reader.count()?,
    };
    Ok(Pulse { letters, schemas })
}

pub(crate) async fn views(
    session: &Session,
    sql: &'static Sql,
    ids: Vec<Uuid>,
) -> Outcome<Vec<ExecutionView>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.alone(sql, &[&ids]).await?;
    rows.iter()
        .map(|row| {
            let (loaded, schema_name) = rows::viewed(row)?;
            Ok(ExecutionView {
                execution: loaded.execution,
                state: loaded.state,
                schema_name,
            })
        })
        .collect()
}

/// Newest first.
pub(crate) async fn list(
    session: &Session,
    filter: &ExecutionFilter,
    before: Option<ExecutionId>,
    limit: u32,
) -> Outcome<Vec<Uuid>> {
    let values = Values::of(filter, before);
    let limit = i64::from(limit);
    let mut params = values.params();
    params.push(&limit);
    ids_of(
        &session
            .alone(lists::LIST.along(&filter.along()), &params)
            .await?,
    )
}

async fn count(session: &Session, filter: &ExecutionFilter) -> Outcome<u64> {
    let values = Values::of(filter, None);
    let statement = lists::COUNT.along(&filter.along());
    let rows = session.alone(statement, &values.params()).await?;
    match rows.first() {
        Some(row) => Reader::new(row).count(),
        None => Ok(0),
    }
}

fn ids_of(rows: &[Row]) -> Outcome<Vec<Uuid>> {
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) async fn timer_shard(
    session: &Session,
    id: ExecutionId,
    wait_id: Uuid,
) -> Outcome<Option<u32>> {
    let action_id = id.to_string();
    let rows = session
        .alone(&sql::TIMER_SHARD, &[&id.0, &wait_id, &action_id])
        .await?;
    rows.first()
        .map(|row| Reader::new(row).number())
        .transpose()
}

fn about(rows: &[Row], address: String, schema: String) -> Outcome<Vec<(String, String)>> {
    let row = rows
        .first()
        .ok_or_else(|| Fault::Corrupt("the server says nothing about itself".into()))?;
    let mut reader = Reader::new(row);
    let mut facts = vec![
        ("store", "postgres".to_owned()),
        ("server_version", reader.text()?),
        ("database_bytes", reader.get::<i64>()?.to_string()),
        ("database", reader.text()?),
        ("fsync", reader.text()?),
        ("synchronous_commit", reader.text()?),
        ("full_page_writes", reader.text()?),
        ("read_only_standby", reader.get::<bool>()?.to_string()),
    ];
    facts.push(("migration", migrations::newest().to_string()));
    facts.push(("address", address));
    facts.push(("schema", schema));
    Ok(facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}
