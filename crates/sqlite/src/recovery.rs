//! Finding what was lost, by the readers. The writer decides again before it writes.

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::store::{
    ExpiredLease, RecoveryReads, StoreResult, SweepPage, SweepRequest,
};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::{SqliteStore, rows, sql};

#[async_trait]
impl RecoveryReads for SqliteStore {
    async fn leases_held(&self, limit: u32) -> StoreResult<Vec<ExecutionId>> {
        self.readers
            .run(move |connection| leases_held(connection, limit))
            .await
    }

    async fn leases_expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>> {
        self.readers
            .run(move |connection| leases_expired(connection, now, limit))
            .await
    }

    async fn sweep_page(&self, request: SweepRequest) -> StoreResult<SweepPage> {
        self.readers
            .run_at_once(move |connection| sweep_page(connection, &request))
            .await
    }
}

fn leases_held(connection: &Connection, limit: u32) -> JobResult<Vec<ExecutionId>> {
    let mut statement = connection.prepare_cached(sql::LEASES_HELD)?;
    let ids = statement.query_map([limit], |row| rows::uuid(row, 0).map(ExecutionId))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn leases_expired(
    connection: &Connection,
    now: Timestamp,
    limit: u32,
) -> JobResult<Vec<ExpiredLease>> {
    let mut statement = connection.prepare_cached(sql::LEASES_EXPIRED)?;
    let found = statement.query_map(params![now.as_micros(), limit], |row| {
        Ok(ExpiredLease {
            execution_id: ExecutionId(rows::uuid(row, 0)?),
            schema_id: SchemaId(rows::uuid(row, 1)?),
            schema_version: row.get(2)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// One page of the statuses that can run.
fn sweep_page(connection: &Connection, request: &SweepRequest) -> JobResult<SweepPage> {
    let statuses = [Status::Running, Status::Queued];
    let page = open_ids(connection, &statuses, request.after, request.limit)?;
    let full = page.len() == request.limit as usize;
    let next = page.last().copied().filter(|_| full);
    let looked_at = u32::try_from(page.len()).unwrap_or(u32::MAX);
    let mut due = Vec::new();
    for id in page {
        let loaded = rows::look_up(connection, id)?.found();
        if loaded.is_some_and(|loaded| request.is_due(&loaded.head, &loaded.state)) {
            due.push(id);
        }
    }
    Ok(SweepPage {
        due,
        looked_at,
        next,
    })
}

/// Ids of executions with one of these statuses, in order, whatever status each has.
pub(crate) fn open_ids(
    connection: &Connection,
    statuses: &[Status],
    after: Option<ExecutionId>,
    limit: u32,
) -> JobResult<Vec<ExecutionId>> {
    let after = after.map_or(Uuid::nil(), |id| id.0);
    let mut statement = connection.prepare_cached(sql::IDS_BY_STATUS_AFTER)?;
    let mut ids = Vec::new();
    for status in statuses {
        let range = params![status.code(), after.as_bytes(), limit];
        for id in statement.query_map(range, |row| rows::uuid(row, 0))? {
            ids.push(ExecutionId(id?));
        }
    }
    ids.sort_unstable();
    ids.truncate(limit as usize);
    Ok(ids)
}
