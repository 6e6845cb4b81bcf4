//! What workers say of themselves.

use async_trait::async_trait;
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::rows::Reader;
use crate::value::{Plain, Text, Time};
use crate::{PostgresStore, sql};

#[async_trait]
impl WorkerStore for PostgresStore {
    async fn report_worker(
        &self,
        report: WorkerRecord,
        forget_before: Timestamp,
    ) -> StoreResult<()> {
        let done = self.vital.run(move |session| async move {
            let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
            session
                .alone(
                    &sql::WORKER_REPORT,
                    &[
                        &Text::new(&report.id),
                        &texts(&report.roles),
                        &texts(&report.node_types),
                        &number(report.slots),
                        &number(report.busy),
                        &texts(&report.doing),
                        &Text::new(&report.version),
                        &Time(report.started_at),
                        &Time(report.heartbeat_at),
                        &Time(forget_before),
                    ],
                )
                .await?;
            Ok(())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn remove_worker(&self, id: &str) -> StoreResult<()> {
        let id = id.to_owned();
        let done = self.vital.run(move |session| async move {
            session
                .alone(&sql::WORKER_REMOVE, &[&Text::new(&id)])
                .await?;
            Ok(())
        });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn workers(&self, since: Timestamp) -> StoreResult<Vec<WorkerRecord>> {
        let done = self.readers.run(move |session| async move {
            let rows = session.alone(&sql::WORKERS_SINCE, &[&Time(since)]).await?;
            rows.iter().map(record).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

fn texts(list: &[String]) -> Vec<Text<'_>> {
    list.iter().map(|text| Text::new(text)).collect()
}

fn record(row: &Row) -> Outcome<WorkerRecord> {
    let mut reader = Reader::new(row);
    Ok(WorkerRecord {
        id: reader.text()?,
        roles: list(&mut reader)?,
        node_types: list(&mut reader)?,
        slots: reader.number()?,
        busy: reader.number()?,
        doing: list(&mut reader)?,
        version: reader.text()?,
        started_at: reader.time()?,
        heartbeat_at: reader.time()?,
    })
}

fn list(reader: &mut Reader<'_>) -> Outcome<Vec<String>> {
    let texts: Vec<Plain> = reader.get()?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}
