//! Quotas on PostgreSQL. [`line`] is what happens within the transactions that create and end executions, [`admit`] what
//! a scheduler does; here are the verbs of operators and doctors.

mod admit;
mod line;
mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::execution::Execution;
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

use crate::commits::lock_heads;
use crate::error::{Fault, Outcome};
use crate::rows::{Loaded, Reader, head};
use crate::session::Session;
use crate::value::{Columns, Text};
use crate::{PostgresStore, sql};

/// How long a new quota waits for executions that were being created without it.
const SETTLE_TRIES: u32 = 40;
const SETTLE_PAUSE: Duration = Duration::from_millis(25);

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
        let done = self
            .writers
            .run(move |session| async move { recount(&session, fix, now).await });
        done.await.map_err(|fault| fault.of_write())
    }
}

/// When it returns, every execution that was being created without knowing of the quota is there to be counted.
async fn set_quota(session: &Session, set: &SetQuota, now: Timestamp) -> Outcome<Quota> {
    session.ready(rows::STATEMENTS).await?;
    session.begin().await?;
    let names = BTreeSet::from([&set.name]);
    let locked = rows::lock_with(session, &names, &names, now).await?;
    let found = locked.into_iter().next();
    let mut quota = found.ok_or_else(|| Fault::Corrupt("a locked row is not there".into()))?;
    let was_set = quota.source.is_some();
    quota.set(Some((set.source, set.limit, set.rate)), now);
    rows::put(session, std::slice::from_ref(&quota), now).await?;
    let number = next_epoch(session).await?;
    session.commit().await?;
    if !was_set {
        settle(session, &number).await?;
    }
    Ok(quota)
}

/// The number of this transaction.
async fn next_epoch(session: &Session) -> Outcome<String> {
    session.ready(&[&sql::QUOTA_EPOCH_NEXT]).await?;
    let rows = session.rows(&sql::QUOTA_EPOCH_NEXT, &[]).await?;
    match rows.first() {
        Some(row) => Reader::new(row).text(),
        None => Err(Fault::Corrupt("the table quota_epoch is empty".into())),
    }
}

/// Waits, for a while, until every transaction that began before this one has ended.
async fn settle(session: &Session, number: &str) -> Outcome<()> {
    let number = Text::new(number);
    for _ in 0..SETTLE_TRIES {
        let rows = session.alone(&sql::QUOTA_EPOCH_SETTLED, &[&number]).await?;
        if rows.first().map_or(Ok(true), |row| row.try_get(0))? {
            return Ok(());
        }
        tokio::time::sleep(SETTLE_PAUSE).await;
    }
    tracing::warn!(
        "a long transaction is under way; what it starts is not counted by the new quota"
    );
    Ok(())
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
    let Some(Loaded { execution, .. }) = found.first().map(head).transpose()? else {
        return Ok(None);
    };
    let one = [&execution];
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
    let quotas = rows::load(session, &rows::names_of(execution.quotas.iter())).await?;
    Ok(Some(PlaceInLine {
        priority: execution.priority,
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
    let counts = |execution: &Execution| execution.quotas.iter().any(|claim| claim.name == *name);
    let concerned: Vec<&Loaded> = heads
        .values()
        .filter(|row| !row.execution.status.is_terminal() && !counts(&row.execution))
        .collect();
    if concerned.is_empty() {
        session.roll_back().await?;
        return Ok(0);
    }
    let after: Vec<(Execution, Standing)> =
        concerned.iter().map(|row| with_claim(row, name)).collect();
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
    let leaving: Vec<&Execution> = standing(Standing::InLine)
        .map(|(row, _)| &row.execution)
        .collect();
    let coming: Vec<&Execution> = standing(Standing::InLine)
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

fn with_claim(row: &Loaded, name: &QuotaName) -> (Execution, Standing) {
    let mut execution = row.execution.clone();
    execution.quotas.push(QuotaClaim::if_set(name.clone()));
    execution
        .quotas
        .sort_by(|one, other| one.name.cmp(&other.name));
    let standing = quota::standing(&execution, &row.state);
    (execution, standing)
}

/// Whoever has the old rows in mind must read them again: their version grows.
async fn note_claims(session: &Session, after: &[(Execution, Standing)]) -> Outcome<()> {
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
    let standing = |wanted: Standing| -> Vec<&Execution> {
        let rows = heads.values();
        rows.filter(|row| quota::standing(&row.execution, &row.state) == wanted)
            .map(|row| &row.execution)
            .collect()
    };
    let in_line = standing(Standing::InLine);
    let places = line::find_places(session, &in_line).await?;
    let there = line::rows_of_line(session, &sql::ADMISSION_LINE_KNOWN, &in_line, &places).await?;
    let lost: Vec<&Execution> = in_line
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
    holding: &[&Execution],
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
    lost: &[&Execution],
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

/// With all quotas locked nobody comes, goes or stands in line.
async fn recount(session: &Session, fix: bool, now: Timestamp) -> Outcome<Vec<Recount>> {
    session.ready(rows::STATEMENTS).await?;
    let all = session.begin_with(&sql::QUOTAS_LOCK_ALL, &[]).await?;
    let all: Vec<Quota> = all.iter().map(rows::quota).collect::<Outcome<_>>()?;
    let used = really_used(session).await?;
    let waiting = really_waiting(session, fix).await?;
    let mut found = Vec::new();
    let mut right = Vec::new();
    for mut quota in all {
        let of = |counts: &BTreeMap<QuotaName, u64>| counts.get(&quota.name).copied().unwrap_or(0);
        let (really_used, really_waiting) = (of(&used), of(&waiting));
        if (quota.used, quota.waiting) == (really_used, really_waiting) {
            continue;
        }
        found.push(Recount {
            name: quota.name.clone(),
            used: quota.used,
            really_used,
            waiting: quota.waiting,
            really_waiting,
        });
        quota.used = really_used;
        quota.waiting = really_waiting;
        quota.updated_at = now;
        right.push(quota);
    }
    if fix && !right.is_empty() {
        session.ready(&[&sql::QUOTA_HOLDERS_STRAY]).await?;
        let names: Vec<Text<'_>> = right.iter().map(|q| Text::new(q.name.as_str())).collect();
        session.rows(&sql::QUOTA_HOLDERS_STRAY, &[&names]).await?;
        rows::put(session, &right, now).await?;
    }
    session.commit().await?;
    Ok(found)
}

async fn really_used(session: &Session) -> Outcome<BTreeMap<QuotaName, u64>> {
    session.ready(&[&sql::QUOTA_HOLDERS_COUNT]).await?;
    let rows = session.rows(&sql::QUOTA_HOLDERS_COUNT, &[]).await?;
    let read = |row| {
        let mut reader = Reader::new(row);
        Ok((rows::name(&mut reader)?, reader.count()?))
    };
    rows.iter().map(read).collect()
}

/// Counts the line itself; with `fix` the lanes are told.
async fn really_waiting(session: &Session, fix: bool) -> Outcome<BTreeMap<QuotaName, u64>> {
    let statements = [
        &sql::ADMISSION_GROUPS,
        &sql::ADMISSION_LANES_ALL,
        &sql::ADMISSION_LANES_COUNTED,
    ];
    session.ready(&statements).await?;
    let groups = session.rows(&sql::ADMISSION_GROUPS, &[]).await?;
    let groups: HashMap<i64, _> = groups
        .iter()
        .map(|row| line::group(row).map(|(group, id)| (id, group)))
        .collect::<Outcome<_>>()?;
    let mut waiting: BTreeMap<QuotaName, u64> = BTreeMap::new();
    let mut wrong = Columns::new(sql::ADMISSION_LANES_COUNTED.kinds());
    for row in &session.rows(&sql::ADMISSION_LANES_ALL, &[]).await? {
        let mut reader = Reader::new(row);
        let group_id: i64 = reader.get()?;
        let key = rows::optional_name(&mut reader)?;
        let (counted, really): (i64, u64) = (reader.get()?, reader.count()?);
        if i64::try_from(really) != Ok(counted) {
            wrong.count(group_id.unsigned_abs());
            wrong.owned_text(Some(
                key.as_ref().map_or_else(String::new, ToString::to_string),
            ));
            wrong.count(really);
        }
        let wide = groups.get(&group_id).map(|group| group.wide.clone());
        for name in wide.iter().flat_map(|wide| wide.iter()).chain(&key) {
            *waiting.entry(name.clone()).or_default() += really;
        }
    }
    if let Some(wrong) = wrong.non_empty().filter(|_| fix) {
        let params = wrong.params();
        session.rows(&sql::ADMISSION_LANES_COUNTED, &params).await?;
    }
    Ok(waiting)
}
