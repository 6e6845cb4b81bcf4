//! Lists and details. A list is a page of ids, found along the index that fits the filter best, and then the rows.

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal, Status, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    ExecutionFilter, ExecutionView, LetterPulse, Pulse, QueryStore, SchemaPulse, StoreResult,
};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Statement, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::rows::{self, integer};
use crate::{SqliteStore, migrations, recovery, sql};

#[async_trait]
impl QueryStore for SqliteStore {
    async fn execution(&self, id: ExecutionId) -> StoreResult<Option<ExecutionView>> {
        self.readers
            .run(move |connection| view(connection, sql::EXECUTION_VIEW, id))
            .await
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.readers
            .run_at_once(move |connection| {
                let ids = list(connection, &filter, before, limit)?;
                views(connection, sql::EXECUTION_VIEW, &ids)
            })
            .await
    }

    async fn count_executions(&self, filter: ExecutionFilter) -> StoreResult<u64> {
        self.readers
            .run_at_once(move |connection| count(connection, &filter))
            .await
    }

    async fn steps(
        &self,
        id: ExecutionId,
        after_seq: u64,
        limit: u32,
    ) -> StoreResult<Vec<(Step, u64)>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::STEPS_BETWEEN)?;
                let range = params![id.0.as_bytes(), integer(after_seq), i64::MAX, limit];
                let found = statement.query_map(range, rows::step)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn logs(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, LogRecord)>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::LOGS_AFTER)?;
                let range = params![id.0.as_bytes(), integer(after), limit];
                let found = statement.query_map(range, rows::log)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn signals(&self, id: ExecutionId) -> StoreResult<Vec<Signal>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SIGNALS_ALL)?;
                let found = statement.query_map([id.0.as_bytes()], rows::signal)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn open_executions(
        &self,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.readers
            .run_at_once(move |connection| {
                let open: Vec<Status> = Status::ALL
                    .iter()
                    .copied()
                    .filter(|status| !status.is_terminal())
                    .collect();
                let ids = recovery::open_ids(connection, &open, after, limit)?;
                views(connection, sql::EXECUTION_VIEW, &ids)
            })
            .await
    }

    async fn timer_shards(&self, waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>> {
        self.readers
            .run_at_once(move |connection| {
                waits
                    .iter()
                    .map(|(id, wait_id)| timer_shard(connection, *id, *wait_id))
                    .collect()
            })
            .await
    }

    async fn execution_by_key(&self, key: &str) -> StoreResult<Option<ExecutionId>> {
        let key = key.to_owned();
        self.readers
            .run_at_once(move |connection| {
                let mut statement = connection.prepare_cached(sql::EXECUTION_BY_KEY)?;
                let found = statement.query_row([&key], |row| rows::uuid(row, 0));
                Ok(found.optional()?.map(ExecutionId))
            })
            .await
    }

    async fn about(&self) -> StoreResult<Vec<(String, String)>> {
        let file = self.file.clone();
        self.readers
            .run(move |connection| about(connection, &file))
            .await
    }

    async fn pulse(&self) -> StoreResult<Pulse> {
        self.readers.run(|connection| pulse(connection)).await
    }
}

fn pulse(connection: &Connection) -> JobResult<Pulse> {
    let mut statement = connection.prepare_cached(sql::PULSE)?;
    let found = statement.query_row([], |row| {
        let letters = LetterPulse {
            last_id: row.get::<_, i64>(0)?.unsigned_abs(),
            open: row.get::<_, i64>(1)?.unsigned_abs(),
        };
        let schemas = SchemaPulse {
            count: row.get::<_, i64>(2)?.unsigned_abs(),
            updated_at: rows::optional_time(row, 3)?,
        };
        Ok(Pulse { letters, schemas })
    });
    Ok(found?)
}

fn view(connection: &Connection, text: &str, id: ExecutionId) -> JobResult<Option<ExecutionView>> {
    let found = connection
        .prepare_cached(text)?
        .query_row([id.0.as_bytes()], |row| {
            let loaded = rows::loaded(row)?;
            Ok(ExecutionView {
                execution: loaded.execution,
                state: loaded.state,
                schema_name: row.get(rows::AFTER_LOADED)?,
            })
        })
        .optional()?;
    Ok(found)
}

pub(crate) fn views(
    connection: &Connection,
    text: &str,
    ids: &[ExecutionId],
) -> JobResult<Vec<ExecutionView>> {
    ids.iter()
        .filter_map(|id| view(connection, text, *id).transpose())
        .collect()
}

/// The way to the rows that a filter can take.
enum Path {
    All,
    Schema,
    /// Only statuses that the small index knows: all but `completed`.
    Statuses(Vec<Status>),
}

fn path(filter: &ExecutionFilter) -> Path {
    if !filter.statuses.is_empty() && !filter.statuses.contains(&Status::Completed) {
        let mut statuses = filter.statuses.clone();
        statuses.sort_unstable();
        statuses.dedup();
        return Path::Statuses(statuses);
    }
    match filter.schema_id {
        Some(_) => Path::Schema,
        None => Path::All,
    }
}

/// Newest first.
pub(crate) fn list(
    connection: &Connection,
    filter: &ExecutionFilter,
    before: Option<ExecutionId>,
    limit: u32,
) -> JobResult<Vec<ExecutionId>> {
    let before = before.map_or(Uuid::max(), |id| id.0);
    match path(filter) {
        Path::All => page(connection, sql::LIST_ALL, filter, before, limit, None),
        Path::Schema => page(connection, sql::LIST_BY_SCHEMA, filter, before, limit, None),
        Path::Statuses(statuses) => {
            let mut ids = Vec::new();
            for status in statuses {
                let status = Some(status);
                ids.extend(page(
                    connection,
                    sql::LIST_BY_STATUS,
                    filter,
                    before,
                    limit,
                    status,
                )?);
            }
            ids.sort_unstable_by(|one, other| other.cmp(one));
            ids.truncate(limit as usize);
            Ok(ids)
        }
    }
}

fn page(
    connection: &Connection,
    text: &str,
    filter: &ExecutionFilter,
    before: Uuid,
    limit: u32,
    status: Option<Status>,
) -> JobResult<Vec<ExecutionId>> {
    let mut statement = connection.prepare_cached(text)?;
    bind_filter(&mut statement, filter)?;
    statement.raw_bind_parameter(1, before.as_bytes())?;
    statement.raw_bind_parameter(9, limit)?;
    if let Some(status) = status {
        statement.raw_bind_parameter(10, status.code())?;
    }
    let mut found = statement.raw_query();
    let mut ids = Vec::new();
    while let Some(row) = found.next()? {
        ids.push(ExecutionId(rows::uuid(row, 0)?));
    }
    Ok(ids)
}

fn count(connection: &Connection, filter: &ExecutionFilter) -> JobResult<u64> {
    if *filter == ExecutionFilter::default() {
        let mut statement = connection.prepare_cached(sql::COUNT_ANY)?;
        return Ok(statement.query_row([], |row| rows::count(row, 0))?);
    }
    match path(filter) {
        Path::All => count_along(connection, sql::COUNT_ALL, filter, None),
        Path::Schema => count_along(connection, sql::COUNT_BY_SCHEMA, filter, None),
        Path::Statuses(statuses) => statuses
            .into_iter()
            .map(|status| count_along(connection, sql::COUNT_BY_STATUS, filter, Some(status)))
            .sum(),
    }
}

fn count_along(
    connection: &Connection,
    text: &str,
    filter: &ExecutionFilter,
    status: Option<Status>,
) -> JobResult<u64> {
    let mut statement = connection.prepare_cached(text)?;
    bind_filter(&mut statement, filter)?;
    if let Some(status) = status {
        statement.raw_bind_parameter(9, status.code())?;
    }
    match statement.raw_query().next()? {
        Some(row) => Ok(rows::count(row, 0)?),
        None => Ok(0),
    }
}

/// The parameters 2 to 8 and 11, which all lists and counts have in common.
fn bind_filter(statement: &mut Statement<'_>, filter: &ExecutionFilter) -> rusqlite::Result<()> {
    let statuses = filter.statuses.iter();
    let mask = statuses.fold(0_i64, |mask, status| mask | 1 << status.code());
    let schema_id = filter.schema_id.as_ref().map(|id| id.0.as_bytes());
    statement.raw_bind_parameter(2, mask)?;
    statement.raw_bind_parameter(3, schema_id)?;
    statement.raw_bind_parameter(4, &filter.tenant)?;
    statement.raw_bind_parameter(5, filter.created_after.map(Timestamp::as_micros))?;
    statement.raw_bind_parameter(6, filter.created_before.map(Timestamp::as_micros))?;
    statement.raw_bind_parameter(7, &filter.text)?;
    statement.raw_bind_parameter(8, filter.text.as_deref().and_then(part_of_id))?;
    statement.raw_bind_parameter(11, filter.not_retried)
}

/// The hexadecimal digits of a text that could be a part of an id.
fn part_of_id(text: &str) -> Option<String> {
    let digits = text.replace('-', "").to_uppercase();
    let is_part = !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    is_part.then_some(digits)
}

pub(crate) fn timer_shard(
    connection: &Connection,
    id: ExecutionId,
    wait_id: Uuid,
) -> JobResult<Option<u32>> {
    let key = params![id.0.as_bytes(), wait_id.as_bytes(), id.to_string()];
    let shard = connection
        .prepare_cached(sql::TIMER_SHARD)?
        .query_row(key, |row| row.get(0))
        .optional()?;
    Ok(shard)
}

fn about(connection: &Connection, file: &std::path::Path) -> JobResult<Vec<(String, String)>> {
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |data| data.len());
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let facts = [
        ("store", "sqlite".to_owned()),
        ("sqlite_version", rusqlite::version().to_owned()),
        ("migration", migrations::newest().to_string()),
        ("file", file.display().to_string()),
        ("database_bytes", size(file).to_string()),
        ("wal_bytes", size(&crate::wal_of(file)).to_string()),
        ("free_pages", pragma("freelist_count")?.to_string()),
    ];
    Ok(facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}
