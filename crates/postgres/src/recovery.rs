//! Finding what was lost, without locks. Each candidate is decided on again under its lock.

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{
    ExpiredLease, RecoveryReads, StoreResult, SweepPage, SweepRequest,
};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::value::Time;
use crate::{PostgresStore, sql};

#[async_trait]
impl RecoveryReads for PostgresStore {
    async fn leases_held(&self, limit: u32) -> StoreResult<Vec<ExecutionId>> {
        let done = self.vital.run(move |session| async move {
            let limit = i64::from(limit);
            let rows = session.alone(&sql::LEASES_HELD, &[&limit]).await?;
            let id = |row: &Row| Ok(ExecutionId(row.try_get(0)?));
            rows.iter().map(id).collect()
        });
        done.await.map_err(|fault: Fault| fault.of_read())
    }

    async fn leases_expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>> {
        let done = self.vital.run(move |session| async move {
            let running = Status::Running.code() as i16;
            let limit = i64::from(limit);
            let rows = session
                .alone(&sql::LEASES_EXPIRED, &[&running, &Time(now), &limit])
                .await?;
            rows.iter().map(expired).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn sweep_page(&self, request: SweepRequest) -> StoreResult<SweepPage> {
        let looking = self
            .vital
            .run(move |session| async move { sweep_page(&session, &request).await });
        looking.await.map_err(|fault| fault.of_read())
    }
}

fn expired(row: &Row) -> Outcome<ExpiredLease> {
    let mut reader = Reader::new(row);
    Ok(ExpiredLease {
        execution_id: ExecutionId(reader.get()?),
        schema_id: SchemaId(reader.get()?),
        schema_version: reader.number()?,
    })
}

/// One page of the statuses that can run.
async fn sweep_page(session: &Session, request: &SweepRequest) -> Outcome<SweepPage> {
    let statuses = [Status::Running, Status::Queued].map(|status| status.code() as i16);
    let after = request.after.map_or(Uuid::nil(), |id| id.0);
    let (idle_since, now) = (request.idle_since.map(Time), Time(request.now));
    let limit = i64::from(request.limit);
    let rows = session
        .alone(
            &sql::SWEEP_PAGE,
            &[
                &statuses.as_slice(),
                &after,
                &limit,
                &idle_since.as_slice(),
                &now,
            ],
        )
        .await?;
    let full = rows.len() as i64 == limit;
    let mut due = Vec::new();
    let mut last = None;
    for row in &rows {
        let mut reader = Reader::new(row);
        let id = ExecutionId(reader.get()?);
        last = Some(id);
        if reader.get()? {
            due.push(id);
        }
    }
    let looked_at = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    Ok(SweepPage {
        due,
        looked_at,
        next: last.filter(|_| full),
    })
}
