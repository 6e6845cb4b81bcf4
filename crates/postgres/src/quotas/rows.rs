//! Quota rows: locked in the order of their names, read, written; and the names that operators have set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join3;
use pawl_kernel::ports::store::NewExecution;
use pawl_kernel::quota::{Quota, QuotaName, QuotaSource, QuotaUse, Shares};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::value::{Columns, Text, Time};

pub(super) fn quota(row: &Row) -> Outcome<Quota> {
    let mut reader = Reader::new(row);
    Ok(Quota {
        name: name(&mut reader)?,
        source: reader
            .optional_text()?
            .as_deref()
            .and_then(QuotaSource::from_name),
        limit: limit(&mut reader)?,
        rate: match reader.optional_text()? {
            None => None,
            Some(text) => Some(text.parse().map_err(Fault::Corrupt)?),
        },
        settings_limit: limit(&mut reader)?,
        settings_version: limit(&mut reader)?.unwrap_or_default(),
        used: reader.count()?,
        waiting: reader.count()?,
        next_at: reader.optional_time()?,
        shares: Shares {
            now: reader.get()?,
            next: [reader.get()?, reader.get()?, reader.get()?],
        },
        updated_at: reader.time()?,
    })
}

fn limit(reader: &mut Reader<'_>) -> Outcome<Option<u32>> {
    let value = reader.optional_count()?;
    Ok(value.map(|value| u32::try_from(value).unwrap_or(u32::MAX)))
}

pub(super) fn name(reader: &mut Reader<'_>) -> Outcome<QuotaName> {
    let text = reader.text()?;
    text.parse()
        .map_err(|error| Fault::Corrupt(format!("`{text}`: {error}")))
}

/// A lane without a concurrency key has the empty one.
pub(super) fn optional_name(reader: &mut Reader<'_>) -> Outcome<Option<QuotaName>> {
    let text = reader.text()?;
    if text.is_empty() {
        return Ok(None);
    }
    let name = text.parse();
    name.map(Some)
        .map_err(|error| Fault::Corrupt(format!("`{text}`: {error}")))
}

fn texts(names: &BTreeSet<QuotaName>) -> Vec<Text<'_>> {
    let names = names.iter();
    names.map(|name| Text::new(name.as_str())).collect()
}

/// Locks what is there of these.
async fn lock(session: &Session, names: &BTreeSet<QuotaName>) -> Outcome<Vec<Quota>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.rows(&sql::QUOTAS_LOCK, &[&texts(names)]).await?;
    rows.iter().map(quota).collect()
}

/// Locks these, and of those in `needed` also what is not there yet.
///
/// A row may vanish between being found and being locked. Then everything is let go before it is looked for again:
/// adding it while the locks on later names are kept would be against the order, and end in a circle.
pub(super) async fn lock_with(
    session: &Session,
    names: &BTreeSet<QuotaName>,
    needed: &BTreeSet<QuotaName>,
    now: Timestamp,
) -> Outcome<Vec<Quota>> {
    const TRIES: u32 = 20;
    session
        .ready(&[&sql::QUOTAS_LOCK, &sql::QUOTAS_ADD])
        .await?;
    if needed.is_empty() {
        return lock(session, names).await;
    }
    for _ in 0..TRIES {
        let added = [&texts(needed) as _, &Time(now) as _];
        let (marked, added, rows) = join3(
            session.script("SAVEPOINT before_quotas"),
            session.rows(&sql::QUOTAS_ADD, &added),
            lock(session, names),
        )
        .await;
        marked?;
        added?;
        let rows = rows?;
        let there = |name: &QuotaName| rows.iter().any(|row| row.name == *name);
        if needed.iter().all(there) {
            return Ok(rows);
        }
        session
            .script("ROLLBACK TO SAVEPOINT before_quotas")
            .await?;
    }
    Err(Fault::Busy("a quota's row is never there".into()))
}

pub(super) async fn load(
    session: &Session,
    names: &BTreeSet<QuotaName>,
) -> Outcome<BTreeMap<QuotaName, Quota>> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    session.ready(&[&sql::QUOTAS_LOAD]).await?;
    let rows = session.rows(&sql::QUOTAS_LOAD, &[&texts(names)]).await?;
    let rows = rows.iter().map(quota);
    rows.map(|row| row.map(|row| (row.name.clone(), row)))
        .collect()
}

pub(super) async fn put(session: &Session, quotas: &[Quota]) -> Outcome<()> {
    let mut columns = Columns::new(sql::QUOTAS_PUT.kinds());
    for quota in quotas {
        put_quota(&mut columns, quota);
    }
    session.ready(&[&sql::QUOTAS_PUT]).await?;
    session.rows(&sql::QUOTAS_PUT, &columns.params()).await?;
    Ok(())
}

pub(super) async fn delete(session: &Session, names: &BTreeSet<QuotaName>) -> Outcome<()> {
    session.ready(&[&sql::QUOTAS_DELETE]).await?;
    session.rows(&sql::QUOTAS_DELETE, &[&texts(names)]).await?;
    Ok(())
}

fn put_quota<'a>(columns: &mut Columns<'a>, quota: &'a Quota) {
    columns.text(quota.name.as_str());
    columns.text(quota.source.map(QuotaSource::name));
    columns.count(quota.limit.map(u64::from));
    columns.owned_text(quota.rate.map(|rate| rate.to_string()));
    columns.count(quota.settings_limit.map(u64::from));
    columns.count(u64::from(quota.settings_version));
    columns.count(quota.used);
    columns.count(quota.waiting);
    columns.time(quota.next_at);
    let [high, normal, low] = quota.shares.next;
    for share in [quota.shares.now, high, normal, low] {
        columns.count(share.unsigned_abs());
    }
    columns.time(quota.updated_at);
}

/// The quotas that operators have set, as of a count of their changes.
#[derive(Clone, Default)]
pub(crate) struct Names {
    pub(crate) epoch: i64,
    names: Arc<BTreeSet<QuotaName>>,
}

impl Names {
    /// Does a quota concern this execution?
    pub(crate) fn concern(&self, new: &NewExecution) -> bool {
        let concerns =
            |claim: &QuotaUse| claim.settings.is_some() || self.names.contains(&claim.name);
        new.execution.head.quotas.iter().any(concerns)
    }
}

/// What this process last heard. The statement that creates executions says if it is old.
#[derive(Default)]
pub(crate) struct KnownNames(Mutex<Option<Names>>);

impl KnownNames {
    pub(crate) async fn get(&self, session: &Session) -> Outcome<Names> {
        if let Some(known) = &*self.lock() {
            return Ok(known.clone());
        }
        let rows = session.alone(&sql::QUOTAS_SET_NAMES, &[]).await?;
        let mut fresh = Names::default();
        let mut names = BTreeSet::new();
        for row in &rows {
            let mut reader = Reader::new(row);
            fresh.epoch = reader.get()?;
            if let Some(text) = reader.optional_text()? {
                names.extend(text.parse());
            }
        }
        fresh.names = Arc::new(names);
        *self.lock() = Some(fresh.clone());
        Ok(fresh)
    }

    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Names>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
