//! Finding what was lost. Candidates are looked for by the readers; the writer decides again before it writes.

use async_trait::async_trait;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::lifecycle;
use pawl_kernel::ports::store::{
    Dispatch, Expired, Reaped, RecoveryStore, StoreResult, Sweep, SweepRequest,
};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use crate::fault::JobResult;
use crate::rows::{self, integer};
use crate::{SqliteStore, changes, sql};

/// Leases cleared in one transaction at the start.
const CLEARED_MAX: u32 = 1_000;
/// The back-off of the sweeper doubles this often, then stays.
const DOUBLINGS_MAX: u32 = 6;

#[async_trait]
impl RecoveryStore for SqliteStore {
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64> {
        let shards = self.shards;
        let mut cleared = 0;
        loop {
            let batch = self
                .writer
                .run(move |connection| clear_leases(connection, now, shards))
                .await?;
            cleared += batch;
            if batch < u64::from(CLEARED_MAX) {
                return Ok(cleared);
            }
        }
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Expired>> {
        self.readers
            .run(move |connection| expired(connection, now, limit))
            .await
    }

    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<Reaped>> {
        let shards = self.shards;
        self.writer
            .run(move |connection| reap(connection, id, on_stuck, now, shards))
            .await
    }

    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep> {
        let looked_for = request.clone();
        let (found, looked_at, next) = self
            .readers
            .run_at_once(move |connection| look_for(connection, &looked_for))
            .await?;
        if found.is_empty() {
            return Ok(Sweep {
                due: Vec::new(),
                looked_at,
                next,
            });
        }
        let due = self
            .writer
            .run(move |connection| {
                let put_off = |id: &_| put_off(connection, *id, &request).transpose();
                found.iter().filter_map(put_off).collect()
            })
            .await?;
        Ok(Sweep {
            due,
            looked_at,
            next,
        })
    }
}

fn clear_leases(connection: &Connection, now: Timestamp, shards: u32) -> JobResult<u64> {
    let mut statement = connection.prepare_cached(sql::LEASES_HELD)?;
    let ids: Vec<Uuid> = statement
        .query_map([CLEARED_MAX], |row| rows::uuid(row, 0))?
        .collect::<Result<_, _>>()?;
    let mut cleared = 0;
    for id in ids {
        let Some(before) = rows::look_up(connection, ExecutionId(id))?.found() else {
            continue;
        };
        let change = lifecycle::recover(&before.head, &before.state, now);
        let decision = changes::write_decided(connection, before, change, shards)?;
        cleared += u64::from(decision.is_some());
    }
    Ok(cleared)
}

fn expired(connection: &Connection, now: Timestamp, limit: u32) -> JobResult<Vec<Expired>> {
    let mut statement = connection.prepare_cached(sql::LEASES_EXPIRED)?;
    let found = statement.query_map(params![now.as_micros(), limit], |row| {
        Ok(Expired {
            execution_id: ExecutionId(rows::uuid(row, 0)?),
            schema_id: SchemaId(rows::uuid(row, 1)?),
            schema_version: row.get(2)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn reap(
    connection: &Connection,
    id: ExecutionId,
    on_stuck: OnStuck,
    now: Timestamp,
    shards: u32,
) -> JobResult<Option<Reaped>> {
    let Some(before) = rows::load_subject(connection, id)? else {
        return Ok(None);
    };
    let change = lifecycle::reap(&before.head, &before.state, on_stuck, now);
    let decision = changes::write_decided(connection, before, change, shards)?;
    Ok(decision.map(|decision| Reaped {
        applied: decision.change.outcome(),
        dispatch: decision.dispatch(),
    }))
}

/// One page of runnable statuses: the ids that seem due, and where the next page starts.
fn look_for(
    connection: &Connection,
    request: &SweepRequest,
) -> JobResult<(Vec<ExecutionId>, u32, Option<ExecutionId>)> {
    let statuses = [Status::Running, Status::Queued];
    let page = open_ids(connection, &statuses, request.after, request.limit)?;
    let full = page.len() == request.limit as usize;
    let next = page.last().copied().filter(|_| full);
    let looked_at = u32::try_from(page.len()).unwrap_or(u32::MAX);
    let mut found = Vec::new();
    for id in page {
        let loaded = rows::look_up(connection, id)?.found();
        if loaded.is_some_and(|loaded| request.is_due(&loaded.head, &loaded.state)) {
            found.push(id);
        }
    }
    Ok((found, looked_at, next))
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

fn put_off(
    connection: &Connection,
    id: ExecutionId,
    request: &SweepRequest,
) -> JobResult<Option<Dispatch>> {
    let loaded = rows::look_up(connection, id)?.found();
    let Some(loaded) = loaded.filter(|row| request.is_due(&row.head, &row.state)) else {
        return Ok(None);
    };
    let sweeps: u32 = connection
        .prepare_cached(sql::STATE_SWEEPS)?
        .query_row([id.0.as_bytes()], |row| row.get(0))?;
    let delay = request.back_off * (1 << sweeps.min(DOUBLINGS_MAX));
    connection
        .prepare_cached(sql::STATE_PUT_OFF)?
        .execute(params![
            id.0.as_bytes(),
            integer(loaded.state.version),
            request.now.plus(delay).as_micros()
        ])?;
    Ok(Some(Dispatch::of(&loaded.head, &loaded.state)))
}
