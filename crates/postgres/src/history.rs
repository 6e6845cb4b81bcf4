//! What one execution did, as people look through it.

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::history::{HistoryReads, LogQuery, StepOutline};
use pawl_kernel::ports::store::{ExecutionFilter, ExecutionView, StoreResult};

use crate::queries::{self, integer};
use crate::value::Text;
use crate::{PostgresStore, rows, sql};

#[async_trait]
impl HistoryReads for PostgresStore {
    async fn outline(
        &self,
        id: ExecutionId,
        after: u64,
        up_to: u64,
        limit: u32,
    ) -> StoreResult<Vec<StepOutline>> {
        let done = self.readers.run(move |session| async move {
            let (after, up_to, limit) = (integer(after), integer(up_to), i64::from(limit));
            let rows = session
                .alone(&sql::OUTLINE, &[&id.0, &after, &up_to, &limit])
                .await?;
            rows.iter().map(rows::outline).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn log_page(&self, query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>> {
        let done = self.readers.run(move |session| async move {
            let sql = match query.newest_first {
                true => &sql::LOGS_NEWEST,
                false => &sql::LOGS_OLDEST,
            };
            let (start, least) = (integer(query.start()), query.least as i64);
            let (node, limit) = (
                query.node_id.as_deref().map(Text::new),
                i64::from(query.limit),
            );
            let rows = session
                .alone(sql, &[&query.id.0, &start, &least, &node, &limit])
                .await?;
            rows.iter().map(rows::log).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn signal_page(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, Signal)>> {
        let done = self.readers.run(move |session| async move {
            let (after, limit) = (integer(after), i64::from(limit));
            let rows = session
                .alone(&sql::SIGNALS_AFTER, &[&id.0, &after, &limit])
                .await?;
            rows.iter().map(rows::arrived_signal).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn execution_briefs(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        let done = self.readers.run(move |session| async move {
            let ids = queries::list(&session, &filter, before, limit).await?;
            queries::views(&session, &sql::EXECUTIONS_BRIEF, ids).await
        });
        done.await.map_err(|fault| fault.of_read())
    }
}
