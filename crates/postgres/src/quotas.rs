//! Quotas on PostgreSQL. [`line`] is what happens within the transactions that create and end executions, [`admit`] what
//! a scheduler does; here are the verbs of operators and doctors, of whom [`rest`] counts those who were there before a
//! quota, and [`recount`] looks whether the counters are right.

mod admit;
mod line;
mod recount;
mod rest;
mod rows;

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use pawl_kernel::execution::{Head, Subject};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::quotas::{
    Admitted, BEFORE_MAX, Holder, Miscount, PlaceInLine, QuotaStore, Recount, SetQuota,
};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::quota::{self, Book, Quota, QuotaClaim, QuotaName, Standing};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

pub(crate) use line::{create, follow};
pub(crate) use rows::KnownNames;

use crate::error::{Fault, Outcome};
use crate::heads::lock_heads;
use crate::rows::{Reader, subject};
use crate::session::Session;
use crate::value::{Columns, Text};
use crate::{PostgresStore, sql};

#[async_trait]
impl QuotaStore for PostgresStore {
    async fn set_quota(&self, set: SetQuota, now: Timestamp) -> StoreResult<Quota> {
        let done = self
            .writers
            .run(move |session| async move { set_quota(&session, &set, now).await });
        let quota = done.await.map_err(|fault| fault.of_write())?;
        self.known_names.forget();
        Ok(quota)
    }

    async fn remove_quota(&self, name: QuotaName, now: Timestamp) -> StoreResult<bool> {
        let done = self
            .writers
            .run(move |session| async move { remove_quota(&session, &name, now).await });
        let removed = done.await.map_err(|fault| fault.of_write())?;
        self.known_names.forget();
        Ok(removed)
    }

    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>> {
        let done = self.readers.run(move |session| async move {
            let text = match set_only {
                true => &sql::QUOTAS_SET,
                false => &sql::QUOTAS_LIST,
            };
            let after = Text::new(after.as_ref().map_or("", QuotaName::as_str));
            let rows = session.alone(text, &[&after, &i64::from(limit)]).await?;
            rows.iter().map(rows::quota).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>> {
        let done = self.readers.run(move |session| async move {
            let names = [Text::new(name.as_str())];
            let rows = session
                .alone(&sql::QUOTAS_LOAD, &[&names.as_slice()])
                .await?;
            rows.first().map(rows::quota).transpose()
        });
        let found = done.await.map_err(|fault| fault.of_read())?;
        Ok(found.filter(|quota| quota.limit().is_some()))
    }

    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>> {
        let done = self.readers.run(move |session| async move {
            let name = Text::new(name.as_str());
            let rows = session
                .alone(&sql::QUOTA_HOLDERS, &[&name, &i64::from(limit)])
                .await?;
            let holder = |row| {
                let mut reader = Reader::new(row);
                Ok(Holder {
                    execution_id: ExecutionId(reader.get()?),
                    since: reader.time()?,
                })
            };
            rows.iter().map(holder).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn admit(&self, now: Timestamp, max: u32) -> StoreResult<Admitted> {
        let shards = self.shards;
        let done = self
            .vital
            .run(move |session| async move { admit::admit(&session, now, max, shards).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn place_in_line(&self, id: ExecutionId) -> StoreResult<Option<PlaceInLine>> {
        let done = self
            .readers
            .run(move |session| async move { place_in_line(&session, id).await });
        done.await.map_err(|fault| fault.of_read())
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
        let done = self
            .writers
            .run(move |session| async move { count_in(&session, &name, &ids, now).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn check_counted(
        &self,
        ids: Vec<ExecutionId>,
        fix: bool,
        now: Timestamp,
    ) -> StoreResult<Vec<(ExecutionId, Miscount)>> {
        let done = self
            .writers
            .run(move |session| async move { check_counted(&session, &ids, fix, now).await });
        done.await.map_err(|fault| fault.of_write())
    }

    async fn recount(&self, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
        let look = self
            .upkeep
            .run(|session| async move { recount::look(&session).await });
        let found = look.await.map_err(|fault| fault.of_read())?;
        if !fix {
            return Ok(found.quotas);
        }
        let mut names = found.of_lanes;
        names.extend(found.quotas.into_iter().map(|wrong| wrong.name));
        let mut mended = Vec::new();
        for name in names {
            let mend = self
                .upkeep
                .run(move |session| async move { recount::mend(&session, &name, now).await });
            mended.extend(mend.await.map_err(|fault| fault.of_write())?);
        }
        Ok(mended)
    }
}

/// From now on it holds for whoever comes. That those who were there before do not count yet is noted.
async fn set_quota(session: &Session, set: &SetQuota, now: Timestamp) -> Outcome<Quota> {
    session.ready(rows::STATEMENTS).await?;
    session.ready(&[&sql::QUOTA_UNCOUNT]).await?;
    session.begin().await?;
    let names = BTreeSet::from([&set.name]);
    let locked = rows::lock_with(session, &names, &names, now).await?;
    let found = locked.into_iter().next();
    let mut quota = found.ok_or_else(|| Fault::Corrupt("a locked row is not there".into()))?;
    let was_set = quota.source.is_some();
    quota.set(Some((set.source, set.limit, set.rate)), now);
    rows::put(session, std::slice::from_ref(&quota), now).await?;
    let change = next_epoch(session).await?;
    if !was_set {
        let name = Text::new(set.name.as_str());
        session.rows(&sql::QUOTA_UNCOUNT, &[&name, &change]).await?;
    }
    session.commit().await?;
    Ok(quota)
}

/// The number of this change of what operators have set.
async fn next_epoch(session: &Session) -> Outcome<i64> {
    session.ready(&[&sql::QUOTA_EPOCH_NEXT]).await?;
    let rows = session.rows(&sql::QUOTA_EPOCH_NEXT, &[]).await?;
    match rows.first() {
        Some(row) => Reader::new(row).get(),
        None => Err(Fault::Corrupt("the table quota_epoch is empty".into())),
    }
}

async fn remove_quota(session: &Session, name: &QuotaName, now: Timestamp) -> Outcome<bool> {
    session.ready(rows::STATEMENTS).await?;
    session.begin().await?;
    let locked = rows::lock(session, &BTreeSet::from([name])).await?;
    let Some(mut quota) = locked.into_iter().next() else {
        session.roll_back().await?;
        return Ok(false);
    };
    let was_set = quota.source.is_some();
    quota.set(None, now);
    rows::put(session, &[quota], now).await?;
    next_epoch(session).await?;
    session.commit().await?;
    Ok(was_set)
}

/// In one transaction, also behind a pooler.
async fn place_in_line(session: &Session, id: ExecutionId) -> Outcome<Option<PlaceInLine>> {
    session
        .ready(&[
            &sql::EXECUTION_LOAD_HEAD,
            &sql::ADMISSION_LINE_KNOWN,
            &sql::ADMISSION_LINE_BEFORE,
        ])
        .await?;
    session.begin().await?;
    let place = find_place(session, id).await?;
    session.commit().await?;
    Ok(place)
}

async fn find_place(session: &Session, id: ExecutionId) -> Outcome<Option<PlaceInLine>> {
    let found = session.rows(&sql::EXECUTION_LOAD_HEAD, &[&id.0]).await?;
    let Some(Subject { head, .. }) = found.first().map(subject).transpose()? else {
        return Ok(None);
    };
    let one = [&head];
    let places = line::find_places(session, &one).await?;
    let there = line::rows_of_line(session, &sql::ADMISSION_LINE_KNOWN, &one, &places).await?;
    let Some((group_id, key)) = places.get(&id).filter(|_| there.contains(&id)) else {
        return Ok(None);
    };
    let most = i64::try_from(BEFORE_MAX).unwrap_or(i64::MAX);
    let key = Text::new(key);
    let before = session
        .rows(&sql::ADMISSION_LINE_BEFORE, &[group_id, &key, &id.0, &most])
        .await?;
    let quotas = rows::load(session, &rows::names_of(head.quotas.iter())).await?;
    Ok(Some(PlaceInLine {
        priority: head.priority,
        quotas: quotas.into_values().collect(),
        before: before
            .first()
            .map_or(Ok(0), |row| Reader::new(row).count())?,
    }))
}

async fn count_in(
    session: &Session,
    name: &QuotaName,
    ids: &[ExecutionId],
    now: Timestamp,
) -> Outcome<u64> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let heads = lock_heads(session, ids).await?;
    session.ready(rows::STATEMENTS).await?;
    session.ready(line::STATEMENTS).await?;
    session
        .ready(&[&sql::EXECUTIONS_SET_QUOTAS, &sql::STATES_TOUCH])
        .await?;
    let counts = |head: &Head| head.quotas.iter().any(|claim| claim.name == *name);
    let concerned: Vec<&Subject> = heads
        .values()
        .filter(|row| !row.head.status.is_terminal() && !counts(&row.head))
        .collect();
    if concerned.is_empty() {
        session.roll_back().await?;
        return Ok(0);
    }
    let after: Vec<(Head, Standing)> = concerned.iter().map(|row| with_claim(row, name)).collect();
    let claims = || after.iter().flat_map(|(execution, _)| &execution.quotas);
    let locked = rows::lock_with(
        session,
        &rows::names_of(claims()),
        &BTreeSet::from([name]),
        now,
    )
    .await?;
    let mut book = Book::open(locked, now);
    note_claims(session, &after).await?;
    let standing = |wanted: Standing| {
        let both = concerned.iter().zip(&after);
        both.filter(move |(_, (_, standing))| *standing == wanted)
    };
    let mut holding = Vec::new();
    let claim = [QuotaClaim::if_set(name.clone())];
    for (_, (execution, _)) in standing(Standing::Holding) {
        book.count(name);
        holding.push((execution.id, claim.as_slice()));
    }
    line::hold(session, &holding, now).await?;
    let leaving: Vec<&Head> = standing(Standing::InLine)
        .map(|(row, _)| &row.head)
        .collect();
    let coming: Vec<&Head> = standing(Standing::InLine)
        .map(|(_, (execution, _))| execution)
        .collect();
    line::take_out_of_line(session, &leaving).await?;
    for (before, now) in leaving.iter().zip(&coming) {
        book.leave(&before.quotas);
        book.line_up(&now.quotas);
    }
    line::put_in_line(session, &coming, &book, now).await?;
    rows::put(session, &book.close(), now).await?;
    session.commit().await?;
    Ok(after.len() as u64)
}

fn with_claim(row: &Subject, name: &QuotaName) -> (Head, Standing) {
    let mut head = row.head.clone();
    head.quotas.push(QuotaClaim::if_set(name.clone()));
    head.quotas.sort_by(|one, other| one.name.cmp(&other.name));
    let standing = quota::standing(&head, &row.state);
    (head, standing)
}

/// Whoever has the old rows in mind must read them again: their version grows.
async fn note_claims(session: &Session, after: &[(Head, Standing)]) -> Outcome<()> {
    let mut columns = Columns::new(sql::EXECUTIONS_SET_QUOTAS.kinds());
    let mut ids: Vec<Uuid> = Vec::new();
    for (execution, _) in after {
        columns.uuid(execution.id.0);
        columns.owned_text(QuotaClaim::to_column(&execution.quotas));
        ids.push(execution.id.0);
    }
    session
        .rows(&sql::EXECUTIONS_SET_QUOTAS, &columns.params())
        .await?;
    session.rows(&sql::STATES_TOUCH, &[&ids]).await?;
    Ok(())
}

async fn check_counted(
    session: &Session,
    ids: &[ExecutionId],
    fix: bool,
    now: Timestamp,
) -> Outcome<Vec<(ExecutionId, Miscount)>> {
    let heads = lock_heads(session, ids.iter().map(|id| id.0).collect()).await?;
    session.ready(rows::STATEMENTS).await?;
    session.ready(line::STATEMENTS).await?;
    session
        .ready(&[&sql::ADMISSION_LINE_KNOWN, &sql::QUOTA_HOLDERS_KNOWN])
        .await?;
    let standing = |wanted: Standing| -> Vec<&Head> {
        let rows = heads.values();
        rows.filter(|row| quota::standing(&row.head, &row.state) == wanted)
            .map(|row| &row.head)
            .collect()
    };
    let in_line = standing(Standing::InLine);
    let places = line::find_places(session, &in_line).await?;
    let there = line::rows_of_line(session, &sql::ADMISSION_LINE_KNOWN, &in_line, &places).await?;
    let lost: Vec<&Head> = in_line
        .into_iter()
        .filter(|execution| !there.contains(&execution.id))
        .collect();
    let holding = standing(Standing::Holding);
    let unknown = unknown_places(session, &holding).await?;
    if fix {
        mend(session, &lost, &unknown, now).await?;
    }
    session.commit().await?;
    let mut wrong: HashMap<ExecutionId, Miscount> = HashMap::new();
    wrong.extend(lost.iter().map(|one| (one.id, Miscount::NotInLine)));
    wrong.extend(unknown.iter().map(|(id, _)| (*id, Miscount::NotHolding)));
    let wrong = |id: &ExecutionId| Some((*id, *wrong.get(id)?));
    Ok(ids.iter().filter_map(wrong).collect())
}

/// Places that executions should hold, and do not.
async fn unknown_places(
    session: &Session,
    holding: &[&Head],
) -> Outcome<Vec<(ExecutionId, QuotaName)>> {
    let mut missing: BTreeSet<(ExecutionId, QuotaName)> = BTreeSet::new();
    let mut columns = Columns::new(sql::QUOTA_HOLDERS_KNOWN.kinds());
    for execution in holding {
        for claim in &execution.quotas {
            columns.text(claim.name.as_str());
            columns.uuid(execution.id.0);
            missing.insert((execution.id, claim.name.clone()));
        }
    }
    if let Some(columns) = columns.non_empty() {
        let params = columns.params();
        for row in &session.rows(&sql::QUOTA_HOLDERS_KNOWN, &params).await? {
            let mut reader = Reader::new(row);
            let name = rows::name(&mut reader)?;
            missing.remove(&(ExecutionId(reader.get()?), name));
        }
    }
    Ok(missing.into_iter().collect())
}

async fn mend(
    session: &Session,
    lost: &[&Head],
    unknown: &[(ExecutionId, QuotaName)],
    now: Timestamp,
) -> Outcome<()> {
    let names: BTreeSet<&QuotaName> = lost
        .iter()
        .flat_map(|execution| execution.quotas.iter().map(|claim| &claim.name))
        .chain(unknown.iter().map(|(_, name)| name))
        .collect();
    let locked = rows::lock_with(session, &names, &names, now).await?;
    let mut book = Book::open(locked, now);
    for (id, name) in unknown {
        book.count(name);
        let claim = [QuotaClaim::if_set(name.clone())];
        line::hold(session, &[(*id, claim.as_slice())], now).await?;
    }
    for execution in lost {
        book.line_up(&execution.quotas);
    }
    line::put_in_line(session, lost, &book, now).await?;
    rows::put(session, &book.close(), now).await
}
