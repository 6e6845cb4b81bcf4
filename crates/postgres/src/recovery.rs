//! Finding what was lost. Candidates are looked for without locks; each is decided on again under its lock.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::execution::{Status, Subject};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::lifecycle;
use pawl_kernel::ports::store::{
    Dispatch, Expired, Reaped, RecoveryStore, StoreResult, Sweep, SweepRequest,
};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use crate::error::Outcome;
use crate::heads::lock_free_heads;
use crate::rows::Reader;
use crate::session::Session;
use crate::value::{Columns, Time};
use crate::{PostgresStore, sql};

/// Leases cleared in one transaction.
const CLEARED_MAX: i64 = 1_000;
/// The back-off of the sweeper doubles this often, then stays.
const DOUBLINGS_MAX: u32 = 6;

#[async_trait]
impl RecoveryStore for PostgresStore {
    async fn clear_leases(&self, now: Timestamp) -> StoreResult<u64> {
        let mut cleared = 0;
        loop {
            let ids = self.leases_held().await?;
            let full = ids.len() as i64 == CLEARED_MAX;
            let recover = move |row: &Subject| lifecycle::recover(&row.head, &row.state, now);
            cleared += self.decide(ids, recover).await?.len() as u64;
            if !full {
                return Ok(cleared);
            }
        }
    }

    async fn expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Expired>> {
        let done = self.vital.run(move |session| async move {
            let running = Status::Running.code() as i16;
            let rows = session
                .alone(
                    &sql::LEASES_EXPIRED,
                    &[&running, &Time(now), &i64::from(limit)],
                )
                .await?;
            rows.iter()
                .map(|row| {
                    let mut reader = Reader::new(row);
                    Ok(Expired {
                        execution_id: ExecutionId(reader.get()?),
                        schema_id: SchemaId(reader.get()?),
                        schema_version: reader.number()?,
                    })
                })
                .collect::<Outcome<_>>()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn reap(
        &self,
        id: ExecutionId,
        on_stuck: OnStuck,
        now: Timestamp,
    ) -> StoreResult<Option<Reaped>> {
        let reap = move |row: &Subject| lifecycle::reap(&row.head, &row.state, on_stuck, now);
        let decided = self.decide_free(vec![id.0], reap).await?;
        Ok(decided.first().map(|one| Reaped {
            applied: one.change.outcome(),
            dispatch: one.dispatch(),
        }))
    }

    async fn sweep(&self, request: SweepRequest) -> StoreResult<Sweep> {
        let looked_for = request.clone();
        let looking = self
            .vital
            .run(move |session| async move { look_for(&session, &looked_for).await });
        let (found, looked_at, next) = looking.await.map_err(|fault| fault.of_read())?;
        if found.is_empty() {
            return Ok(Sweep {
                due: Vec::new(),
                looked_at,
                next,
            });
        }
        let putting = self
            .vital
            .run(move |session| async move { put_off(&session, found, &request).await });
        let due = putting.await.map_err(|fault| fault.of_write())?;
        Ok(Sweep {
            due,
            looked_at,
            next,
        })
    }
}

impl PostgresStore {
    async fn leases_held(&self) -> StoreResult<Vec<Uuid>> {
        let done = self.vital.run(|session| async move {
            let rows = session.alone(&sql::LEASES_HELD, &[&CLEARED_MAX]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

/// One page of runnable statuses: the ids that seem due, how many were looked at, and where the next page starts.
async fn look_for(
    session: &Session,
    request: &SweepRequest,
) -> Outcome<(Vec<Uuid>, u32, Option<ExecutionId>)> {
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
    let mut found = Vec::new();
    let mut last = None;
    for row in &rows {
        let mut reader = Reader::new(row);
        let id: Uuid = reader.get()?;
        last = Some(ExecutionId(id));
        if reader.get()? {
            found.push(id);
        }
    }
    let looked_at = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    Ok((found, looked_at, last.filter(|_| full)))
}

async fn put_off(
    session: &Session,
    found: Vec<Uuid>,
    request: &SweepRequest,
) -> Outcome<Vec<Dispatch>> {
    session.begin().await?;
    let free = lock_free_heads(session, found).await?;
    let mut due: Vec<Subject> = free
        .rows
        .into_values()
        .filter(|row| request.is_due(&row.head, &row.state))
        .collect();
    due.sort_unstable_by_key(|row| row.head.id);
    let ids: Vec<Uuid> = due.iter().map(|row| row.head.id.0).collect();
    session
        .ready(&[&sql::SWEEPS_OF, &sql::SWEEPS_PUT_OFF])
        .await?;
    let rows = session.rows(&sql::SWEEPS_OF, &[&ids]).await?;
    let swept = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Outcome<HashMap<Uuid, i32>>>()?;
    let mut columns = Columns::new(sql::SWEEPS_PUT_OFF.kinds());
    for row in &due {
        let id = row.head.id.0;
        let swept = swept.get(&id).copied().unwrap_or(0);
        columns.uuid(id);
        columns.count(row.state.version);
        columns.time(request.now.plus(delay(request.back_off, swept)));
    }
    session
        .rows(&sql::SWEEPS_PUT_OFF, &columns.params())
        .await?;
    session.commit().await?;
    Ok(due
        .iter()
        .map(|row| Dispatch::of(&row.head, &row.state))
        .collect())
}

fn delay(back_off: Duration, swept: i32) -> Duration {
    back_off * (1 << swept.unsigned_abs().min(DOUBLINGS_MAX))
}
