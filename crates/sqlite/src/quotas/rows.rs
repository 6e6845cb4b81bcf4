//! Quota rows to structs and back, and the names that operators have set.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use pawl_kernel::quota::{Quota, QuotaName, QuotaSource, Rate, Shares};
use pawl_kernel::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::JobResult;
use crate::rows::{self, integer};
use crate::sql;

pub(super) fn load(connection: &Connection, name: &QuotaName) -> JobResult<Option<Quota>> {
    let found = connection
        .prepare_cached(sql::QUOTA_LOAD)?
        .query_row([name.as_str()], quota)
        .optional()?;
    Ok(found)
}

pub(super) fn quota(row: &Row<'_>) -> rusqlite::Result<Quota> {
    Ok(Quota {
        name: name(row, 0)?,
        source: row
            .get_ref(1)?
            .as_str_or_null()?
            .and_then(QuotaSource::from_name),
        limit: row.get(2)?,
        rate: rate(row, 3)?,
        settings_limit: row.get(4)?,
        settings_version: row.get(5)?,
        used: rows::count(row, 6)?,
        waiting: rows::count(row, 7)?,
        next_at: rows::optional_time(row, 8)?,
        shares: Shares {
            now: row.get(9)?,
            next: [row.get(10)?, row.get(11)?, row.get(12)?],
        },
        updated_at: rows::time(row, 13)?,
    })
}

pub(super) fn name(row: &Row<'_>, at: usize) -> rusqlite::Result<QuotaName> {
    let text = row.get_ref(at)?.as_str()?;
    text.parse().map_err(|error| damaged(at, error))
}

/// A lane without a concurrency key has the empty one.
pub(super) fn optional_name(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<QuotaName>> {
    match row.get_ref(at)?.as_str()? {
        "" => Ok(None),
        _ => name(row, at).map(Some),
    }
}

fn rate(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Rate>> {
    let text = row.get_ref(at)?.as_str_or_null()?;
    text.map(|text| text.parse().map_err(|error: String| damaged(at, error)))
        .transpose()
}

pub(super) fn damaged(at: usize, error: impl ToString) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, error.to_string().into())
}

pub(super) fn put(connection: &Connection, quota: &Quota) -> JobResult<()> {
    let Shares {
        now: share_now,
        next: [high, normal, low],
    } = quota.shares;
    connection.prepare_cached(sql::QUOTA_PUT)?.execute(params![
        quota.name.as_str(),
        quota.source.map(QuotaSource::name),
        quota.limit,
        quota.rate.map(|rate| rate.to_string()),
        quota.settings_limit,
        quota.settings_version,
        integer(quota.used),
        integer(quota.waiting),
        quota.next_at.map(Timestamp::as_micros),
        share_now,
        high,
        normal,
        low,
        quota.updated_at.as_micros(),
    ])?;
    Ok(())
}

thread_local! {
    /// Only the writer thread creates executions, and only it sets quotas: what it remembers is what is stored.
    static SET: RefCell<Option<Rc<BTreeSet<QuotaName>>>> = const { RefCell::new(None) };
}

/// The quotas that an operator has set, so that an execution without any costs no statement.
pub(super) fn set_names(connection: &Connection) -> JobResult<Rc<BTreeSet<QuotaName>>> {
    if let Some(names) = SET.with_borrow(Clone::clone) {
        return Ok(names);
    }
    let mut statement = connection.prepare_cached(sql::QUOTAS_SET)?;
    let found = statement.query_map(params!["", -1], |row| name(row, 0))?;
    let names = Rc::new(found.collect::<Result<BTreeSet<_>, _>>()?);
    SET.set(Some(names.clone()));
    Ok(names)
}

/// After a rollback, or when a quota was set or removed.
pub(crate) fn forget_set_names() {
    SET.set(None);
}
