//! Quotas on SQLite. [`line`] is what happens within the transactions that create, admit and end executions; here are
//! the verbs of operators and doctors, of whom [`rest`] counts those who were there before a quota, and [`recount`] looks
//! whether the counters are right.

mod line;
mod recount;
mod rest;
mod rows;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use pawl_kernel::execution::{Head, Subject};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{
    Admitted, BEFORE_MAX, Holder, Miscount, PlaceInLine, QuotaStore, Recount, SetQuota,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{self, Quota, QuotaClaim, QuotaName, Standing};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

pub(crate) use line::{Entry, enter, follow};
pub(crate) use rows::forget_set_names;

use crate::fault::JobResult;
use crate::rows::{self as execution_rows, integer};
use crate::{SqliteStore, hot, sql};

#[async_trait]
impl QuotaStore for SqliteStore {
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota> {
        self.writer
            .run(move |connection| set_quota(connection, &set, now))
            .await
    }

    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool> {
        self.writer
            .run(move |connection| remove_quota(connection, &name, now))
            .await
    }

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

    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<Admitted> {
        let shards = self.shards;
        self.writer
            .run(move |connection| line::admit(connection, now, max, shards))
            .await
    }

    async fn place_in_line(&self, id: ExecutionId) -> StoreResult<Option<PlaceInLine>> {
        self.readers
            .run_at_once(move |connection| place_in_line(connection, id))
            .await
    }

    async fn count_rest(&self, name: QuotaName, now: Timestamp) -> StoreResult<u64> {
        self.count_everybody(name, now).await
    }

    async fn count_in(
        &self,
        name: QuotaName,
        ids: Vec<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<u64> {
        self.writer
            .run(move |connection| {
                let mut counted = 0;
                for id in &ids {
                    counted += u64::from(count_in(connection, &name, *id, now)?);
                }
                Ok(counted)
            })
            .await
    }

    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>> {
        self.writer
            .run(move |connection| {
                let check = |id: &ExecutionId| match check_counted(connection, *id, fix, now) {
                    Ok(found) => found.map(|miscount| Ok((*id, miscount))),
                    Err(fault) => Some(Err(fault)),
                };
                ids.iter().filter_map(check).collect()
            })
            .await
    }

    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
        let found = self.readers.run_at_once(recount::look).await?;
        if !fix || found.is_nothing() {
            return Ok(found.quotas);
        }
        self.writer
            .run(move |connection| recount(connection, true, now))
            .await
    }
}

fn set_quota(connection: &Connection, set: &SetQuota, now: Timestamp) -> JobResult<Quota> {
    let found = rows::load(connection, &set.name)?;
    let mut quota = found.unwrap_or_else(|| Quota::unset(set.name.clone(), now));
    let was_set = quota.source.is_some();
    quota.set(Some((set.source, set.limit, set.rate)), now);
    rows::put(connection, &quota, now)?;
    if !was_set {
        // Those who were there before do not count yet.
        let number = params![set.name.as_str(), now.as_micros()];
        connection
            .prepare_cached(sql::QUOTA_UNCOUNT)?
            .execute(number)?;
    }
    rows::forget_set_names();
    Ok(quota)
}

fn remove_quota(connection: &Connection, name: &QuotaName, now: Timestamp) -> JobResult<bool> {
    let Some(mut quota) = rows::load(connection, name)? else {
        return Ok(false);
    };
    let was_set = quota.source.is_some();
    quota.set(None, now);
    rows::put(connection, &quota, now)?;
    rows::forget_set_names();
    Ok(was_set)
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

fn place_in_line(connection: &Connection, id: ExecutionId) -> JobResult<Option<PlaceInLine>> {
    let Some(Subject { head, .. }) = execution_rows::load_subject(connection, id)? else {
        return Ok(None);
    };
    let Some(place) = line::find_place(connection, &head)? else {
        return Ok(None);
    };
    if !is_in_line(connection, &place, id)? {
        return Ok(None);
    }
    let before = connection
        .prepare_cached(sql::ADMISSION_LINE_BEFORE)?
        .query_row(
            params![
                place.group_id,
                place.key,
                id.0.as_bytes(),
                integer(BEFORE_MAX)
            ],
            |row| execution_rows::count(row, 0),
        )?;
    let load = |claim: &QuotaClaim| rows::load(connection, &claim.name).transpose();
    let quotas = head.quotas.iter().filter_map(load);
    Ok(Some(PlaceInLine {
        priority: head.priority,
        quotas: quotas.collect::<Result<_, _>>()?,
        before,
    }))
}

fn is_in_line(
    connection: &Connection,
    place: &line::LanePlace,
    id: ExecutionId,
) -> JobResult<bool> {
    let mut statement = connection.prepare_cached(sql::ADMISSION_LINE_KNOWN)?;
    Ok(statement.exists(params![place.group_id, place.key, id.0.as_bytes()])?)
}

fn count_in(
    connection: &Connection,
    name: &QuotaName,
    id: ExecutionId,
    now: Timestamp,
) -> JobResult<bool> {
    let Some(Subject { head, state }) = execution_rows::load_subject(connection, id)? else {
        return Ok(false);
    };
    let known = head.quotas.iter().any(|claim| claim.name == *name);
    if known || head.status.is_terminal() {
        return Ok(false);
    }
    let mut after = head.clone();
    after.quotas.push(QuotaClaim::if_set(name.clone()));
    after.quotas.sort_by(|one, other| one.name.cmp(&other.name));
    hot::forget(id);
    // Whoever has the old row in mind must read it again.
    connection
        .prepare_cached(sql::STATE_TOUCH)?
        .execute([id.0.as_bytes()])?;
    connection
        .prepare_cached(sql::EXECUTION_SET_QUOTAS)?
        .execute(params![
            id.0.as_bytes(),
            QuotaClaim::to_column(&after.quotas)
        ])?;
    let mut book = line::open_book(connection, &after.quotas, now)?;
    match quota::standing(&after, &state) {
        Standing::Holding => {
            book.count(name);
            line::add_holder(connection, name, id, now)?;
        }
        Standing::InLine => {
            line::take_out_of_line(connection, &head)?;
            book.leave(&head.quotas);
            book.line_up(&after.quotas);
            line::put_in_line(connection, &after, &book, now)?;
        }
        Standing::Aside | Standing::Free => {}
    }
    line::close_book(connection, book, now)?;
    Ok(true)
}

fn check_counted(
    connection: &Connection,
    id: ExecutionId,
    fix: bool,
    now: Timestamp,
) -> JobResult<Option<Miscount>> {
    let Some(subject) = execution_rows::load_subject(connection, id)? else {
        return Ok(None);
    };
    match quota::standing(&subject.head, &subject.state) {
        Standing::InLine => check_in_line(connection, &subject.head, fix, now),
        Standing::Holding => check_holding(connection, &subject.head, fix, now),
        Standing::Aside | Standing::Free => Ok(None),
    }
}

fn check_in_line(
    connection: &Connection,
    head: &Head,
    fix: bool,
    now: Timestamp,
) -> JobResult<Option<Miscount>> {
    let place = line::find_place(connection, head)?;
    if let Some(place) = place
        && is_in_line(connection, &place, head.id)?
    {
        return Ok(None);
    }
    if fix {
        let mut book = line::open_book(connection, &head.quotas, now)?;
        book.line_up(&head.quotas);
        line::put_in_line(connection, head, &book, now)?;
        line::close_book(connection, book, now)?;
    }
    Ok(Some(Miscount::NotInLine))
}

fn check_holding(
    connection: &Connection,
    head: &Head,
    fix: bool,
    now: Timestamp,
) -> JobResult<Option<Miscount>> {
    let (id, claims) = (head.id, &head.quotas);
    let mut missing = Vec::new();
    for claim in claims {
        let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_KNOWN)?;
        if !statement.exists(params![claim.name.as_str(), id.0.as_bytes()])? {
            missing.push(&claim.name);
        }
    }
    if fix && !missing.is_empty() {
        let mut book = line::open_book(connection, claims, now)?;
        for name in &missing {
            book.count(name);
            line::add_holder(connection, name, id, now)?;
        }
        line::close_book(connection, book, now)?;
    }
    Ok((!missing.is_empty()).then_some(Miscount::NotHolding))
}

fn recount(connection: &Connection, fix: bool, now: Timestamp) -> JobResult<Vec<Recount>> {
    let found = recount::look(connection)?;
    if fix {
        recount::mend(connection, &found, now)?;
    }
    Ok(found.quotas)
}
