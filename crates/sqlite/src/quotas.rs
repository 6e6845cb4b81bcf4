//! Quotas on SQLite: looking at them, and entering them at creation. [`line`] is the admission queue, [`transaction`]
//! what operations do to the rows, and [`recount`] counts them.

mod line;
mod recount;
mod rows;
#[cfg(test)]
mod tests;
mod transaction;

use std::slice;

use async_trait::async_trait;
use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{Entrance, LanePlace, finish_now, follow_decisions};
use pawl_kernel::ports::quotas::{AdmissionPosition, BEFORE_MAX, Holder, Miscounts, QuotaReads};
use pawl_kernel::ports::store::{CreateOutcome, NewExecution, StoreResult};
use pawl_kernel::quota::{Quota, QuotaChange, QuotaName, QuotaUse};
use pawl_kernel::transition::Decision;
use rusqlite::{Connection, OptionalExtension, params};

pub(crate) use rows::forget_set_names;

use crate::fault::JobResult;
use crate::rows::{self as execution_rows, integer};
use crate::transaction::ConnectionTransaction;
use crate::{SqliteStore, sql};

#[async_trait]
impl QuotaReads for SqliteStore {
    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>> {
        self.readers
            .run(move |connection| {
                let after = after.as_ref().map_or("", QuotaName::as_str);
                let text = match set_only {
                    true => sql::QUOTAS_SET,
                    false => sql::QUOTAS_LIST,
                };
                let mut statement = connection.prepare_cached(text)?;
                let found = statement.query_map(params![after, limit], rows::quota)?;
                Ok(found.collect::<Result<_, _>>()?)
            })
            .await
    }

    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>> {
        self.readers
            .run(move |connection| {
                let found = rows::load(connection, &name)?;
                Ok(found.filter(|quota| quota.limit().is_some()))
            })
            .await
    }

    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>> {
        self.readers
            .run(move |connection| holders(connection, &name, limit))
            .await
    }

    async fn admission_position(&self, id: ExecutionId) -> StoreResult<Option<AdmissionPosition>> {
        self.readers
            .run_at_once(move |connection| admission_position(connection, id))
            .await
    }

    async fn has_line(&self) -> StoreResult<bool> {
        self.readers
            .run(|connection| {
                let mut statement = connection.prepare_cached(sql::ADMISSION_GROUPS)?;
                Ok(statement.exists([])?)
            })
            .await
    }

    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        self.readers
            .run(move |connection| {
                let mut statement = connection.prepare_cached(sql::QUOTA_UNCOUNTED)?;
                let found = statement.query_row([name.as_str()], |row| row.get(0));
                Ok(found.optional()?)
            })
            .await
    }

    /// The writer alone creates executions, and it knows what it has set.
    async fn settings_known(&self) -> StoreResult<()> {
        Ok(())
    }

    async fn miscounts(&self) -> StoreResult<Miscounts> {
        self.readers.run_at_once(recount::look).await
    }
}

fn holders(connection: &Connection, name: &QuotaName, limit: u32) -> JobResult<Vec<Holder>> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDERS)?;
    let found = statement.query_map(params![name.as_str(), limit], |row| {
        Ok(Holder {
            execution_id: ExecutionId(execution_rows::uuid(row, 0)?),
            since: execution_rows::time(row, 1)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn admission_position(
    connection: &Connection,
    id: ExecutionId,
) -> JobResult<Option<AdmissionPosition>> {
    let Some(Subject { head, .. }) = execution_rows::load_subject(connection, id)? else {
        return Ok(None);
    };
    let place = LanePlace::of(&head);
    let Some(lane) = line::find_lane(connection, &place.lane)? else {
        return Ok(None);
    };
    if !line::is_known(connection, &place)? {
        return Ok(None);
    }
    let before = connection
        .prepare_cached(sql::ADMISSION_LINE_BEFORE)?
        .query_row(
            params![
                lane.group_id,
                lane.key,
                id.0.as_bytes(),
                integer(BEFORE_MAX)
            ],
            |row| execution_rows::count(row, 0),
        )?;
    let load = |claim: &QuotaUse| rows::load(connection, &claim.name).transpose();
    let quotas = head.quotas.iter().filter_map(load);
    Ok(Some(AdmissionPosition {
        priority: head.priority,
        quotas: quotas.collect::<Result<_, _>>()?,
        before,
    }))
}

/// What the change of an execution does to its quotas.
pub(crate) fn follow(
    connection: &mut Connection,
    decision: &Decision,
    shards: u32,
) -> JobResult<()> {
    if decision.quota_change() == QuotaChange::None {
        return Ok(());
    }
    let mut rows = ConnectionTransaction::new(connection, shards);
    let done = finish_now(follow_decisions(&mut rows, slice::from_ref(decision)));
    rows.finish(done)
}

/// A new execution as it is to be written, if quotas concern it.
pub(crate) struct Entry {
    pub(crate) new: Box<NewExecution>,
    entrance: Entrance,
}

/// `None`: no quota concerns it.
pub(crate) fn enter(
    connection: &mut Connection,
    new: &NewExecution,
    shards: u32,
) -> JobResult<Option<Entry>> {
    if new.execution.head.quotas.is_empty() {
        return Ok(None);
    }
    let set = rows::set_names(connection)?;
    let concerns = |claim: &QuotaUse| claim.settings.is_some() || set.contains(&claim.name);
    if !new.execution.head.quotas.iter().any(concerns) {
        return Ok(None);
    }
    let mut new = Box::new(new.clone());
    let now = new.state.updated_at;
    let mut rows = ConnectionTransaction::new(connection, shards);
    let decided = finish_now(Entrance::decide(&mut rows, slice::from_mut(&mut new), now));
    let entrance = rows.finish(decided)?;
    Ok(Some(Entry { new, entrance }))
}

impl Entry {
    /// Called once the execution's own rows are written.
    pub(crate) fn write(
        self,
        connection: &mut Connection,
        shards: u32,
    ) -> JobResult<CreateOutcome> {
        let Self { new, entrance } = self;
        let answer = entrance.answer(new.execution.head.id);
        let mut rows = ConnectionTransaction::new(connection, shards);
        let done = finish_now(entrance.write(&mut rows, &[&new]));
        rows.finish(done)?;
        Ok(answer.unwrap_or(CreateOutcome::New))
    }
}
