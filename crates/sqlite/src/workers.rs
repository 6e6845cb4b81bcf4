//! What workers say of themselves.

use async_trait::async_trait;
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Row, params};

use crate::{SqliteStore, rows, sql};

#[async_trait]
impl WorkerStore for SqliteStore {
    async fn report_worker(
        &self,
        report: WorkerRecord,
        forget_before: Timestamp,
    ) -> StoreResult<()> {
        self.writer
            .run(move |connection| {
                let list = |texts: &[String]| serde_json::json!(texts).to_string();
                connection
                    .prepare_cached(sql::WORKER_REPORT)?
                    .execute(params![
                        report.id,
                        list(&report.roles),
                        list(&report.node_types),
                        report.slots,
                        report.busy,
                        list(&report.doing),
                        report.version,
                        report.started_at.as_micros(),
                        report.heartbeat_at.as_micros()
                    ])?;
                connection
                    .prepare_cached(sql::WORKERS_FORGET)?
                    .execute([forget_before.as_micros()])?;
                Ok(())
            })
            .await
    }

    async fn remove_worker(&self, id: &str) -> StoreResult<()> {
        let id = id.to_owned();
        self.writer
            .run(move |connection| {
                connection
                    .prepare_cached(sql::WORKER_REMOVE)?
                    .execute([&id])?;
                Ok(())
            })
            .await
    }

    async fn workers(&self, since: Timestamp) -> StoreResult<Vec<WorkerRecord>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::WORKERS_SINCE)?;
                let found = statement.query_map([since.as_micros()], record)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<WorkerRecord> {
    Ok(WorkerRecord {
        id: row.get(0)?,
        roles: list(row, 1)?,
        node_types: list(row, 2)?,
        slots: row.get(3)?,
        busy: row.get(4)?,
        doing: list(row, 5)?,
        version: row.get(6)?,
        started_at: rows::time(row, 7)?,
        heartbeat_at: rows::time(row, 8)?,
    })
}

fn list(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<String>> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, error.into()))
}
