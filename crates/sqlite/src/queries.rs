//! Lists and details. A list is a page of ids, found along the index that fits the filter best, and then the rows.

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal, Status, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{
    ExecutionFilter, ExecutionView, LetterPulse, Pulse, QueryStore, SchemaPulse, StoreResult,
};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::deadline::StatementDeadline;
use crate::fault::JobResult;
use crate::lists::{self, Extra};
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
            revision: row.get::<_, i64>(2)?.unsigned_abs(),
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

/// Newest first.
pub(crate) fn list(
    connection: &Connection,
    filter: &ExecutionFilter,
    before: Option<ExecutionId>,
    limit: u32,
) -> JobResult<Vec<ExecutionId>> {
    let mut ids = Vec::new();
    for (text, status) in lists::LIST.along(&filter.along()) {
        let extra = Extra {
            before,
            limit: Some(limit),
            status,
            ..Extra::default()
        };
        let mut statement = lists::prepare(connection, text, filter, extra)?;
        let _deadline = StatementDeadline::begin();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            ids.push(ExecutionId(rows::uuid(row, 0)?));
        }
    }
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.truncate(limit as usize);
    Ok(ids)
}

fn count(connection: &Connection, filter: &ExecutionFilter) -> JobResult<u64> {
    if *filter == ExecutionFilter::default() {
        let _deadline = StatementDeadline::begin();
        let mut statement = connection.prepare_cached(sql::COUNT_ANY)?;
        return Ok(statement.query_row([], |row| rows::count(row, 0))?);
    }
    let mut sum = 0;
    for (text, status) in lists::COUNT.along(&filter.along()) {
        let extra = Extra {
            status,
            ..Extra::default()
        };
        let mut statement = lists::prepare(connection, text, filter, extra)?;
        let _deadline = StatementDeadline::begin();
        if let Some(row) = statement.raw_query().next()? {
            sum += rows::count(row, 0)?;
        }
    }
    Ok(sum)
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
