//! What one execution did, as people look through it.

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::history::{HistoryReads, LogQuery, StepOutline};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, StoreResult};
use rusqlite::params;

use crate::rows::{self, integer};
use crate::{SqliteStore, queries, sql};

#[async_trait]
impl HistoryReads for SqliteStore {
    async fn outline(
        &self,
        id: ExecutionId,
        after: u64,
        up_to: u64,
        limit: u32,
    ) -> StoreResult<Vec<StepOutline>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::OUTLINE)?;
                let range = params![id.0.as_bytes(), integer(after), integer(up_to), limit];
                let found = statement.query_map(range, rows::outline)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn log_page(&self, query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>> {
        self.readers
            .run(move |connection| {
                let text = match query.newest_first {
                    true => sql::LOGS_NEWEST,
                    false => sql::LOGS_OLDEST,
                };
                let mut statement = connection.prepare_cached(text)?;
                let wanted = params![
                    query.id.0.as_bytes(),
                    integer(query.start()),
                    query.least as i64,
                    query.node_id,
                    query.limit
                ];
                let found = statement.query_map(wanted, rows::log)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn signal_page(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, Signal)>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::SIGNALS_AFTER)?;
                let range = params![id.0.as_bytes(), integer(after), limit];
                let found = statement
                    .query_map(range, |row| Ok((rows::count(row, 5)?, rows::signal(row)?)))?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn execution_briefs(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.readers
            .run_at_once(move |connection| {
                let ids = queries::list(connection, &filter, before, limit)?;
                queries::views(connection, sql::EXECUTION_BRIEF, &ids)
            })
            .await
    }
}
