//! What quotas and lanes count, and what there is.

use std::collections::BTreeMap;

use pawl_kernel::operations::{LaneCount, QuotaCounts};
use pawl_kernel::ports::quotas::Miscounts;
use pawl_kernel::quota::{LaneId, QuotaName, QuotaUse};
use rusqlite::{Connection, Row, params};

use super::{line, rows};
use crate::fault::JobResult;
use crate::rows::{self as execution_rows, integer};
use crate::sql;

/// A reader sees one moment.
pub(super) fn look(connection: &Connection) -> JobResult<Miscounts> {
    let mut counts = QuotaCounts::default();
    let mut statement = connection.prepare_cached(sql::QUOTAS_ALL)?;
    for quota in statement.query_map([], rows::quota)? {
        let quota = quota?;
        counts.says(quota.name, quota.used, quota.waiting);
    }
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDERS_COUNT)?;
    let held = |row: &Row<'_>| Ok((rows::name(row, 0)?, execution_rows::count(row, 1)?));
    for held in statement.query_map([], held)? {
        let (name, times) = held?;
        counts.is_held(name, times);
    }
    for lane in &lanes(connection)? {
        counts.has_lane(lane);
    }
    Ok(counts.wrong())
}

/// All lanes, also those that are not there although executions stand in them.
pub(super) fn lanes(connection: &Connection) -> JobResult<Vec<LaneCount>> {
    let groups: BTreeMap<i64, _> = line::groups(connection)?.into_iter().collect();
    let mut statement = connection.prepare_cached(sql::ADMISSION_LANES_ALL)?;
    let lanes = statement.query_map([], |row| {
        let Some(group) = groups.get(&row.get(0)?).cloned() else {
            return Ok(None);
        };
        let key = rows::optional_name(row, 1)?;
        let counted = match row.get::<_, Option<i64>>(2)? {
            None => None,
            Some(_) => Some(execution_rows::count(row, 2)?),
        };
        Ok(Some(LaneCount {
            lane: LaneId { group, key },
            counted,
            really: execution_rows::count(row, 3)?,
        }))
    })?;
    let lanes: Vec<Option<LaneCount>> = lanes.collect::<Result<_, _>>()?;
    Ok(lanes.into_iter().flatten().collect())
}

pub(super) fn put_lane(connection: &Connection, count: &LaneCount) -> JobResult<()> {
    let Some(lane) = line::find_lane(connection, &count.lane)? else {
        return Ok(());
    };
    if count.really == 0 {
        return line::delete_lane(connection, &lane);
    }
    connection
        .prepare_cached(sql::ADMISSION_LANE_COUNTED)?
        .execute(params![lane.group_id, lane.key, integer(count.really)])?;
    Ok(())
}

pub(super) fn times_held(connection: &Connection, name: &QuotaName) -> JobResult<u64> {
    let times = connection
        .prepare_cached(sql::QUOTA_HOLDERS_COUNT_OF)?
        .query_row([name.as_str()], |row| execution_rows::count(row, 0))?;
    Ok(times)
}

pub(super) fn remove_strays(connection: &Connection, name: &QuotaName) -> JobResult<()> {
    connection
        .prepare_cached(sql::QUOTA_HOLDERS_STRAY)?
        .execute([name.as_str()])?;
    Ok(())
}

pub(super) fn quotas_of_users(
    connection: &Connection,
    name: &QuotaName,
) -> JobResult<Vec<Vec<QuotaUse>>> {
    let mut statement = connection.prepare_cached(sql::QUOTA_CLAIMS)?;
    let claims = statement.query_map([name.as_str()], |row| {
        let text = row.get_ref(0)?.as_str_or_null()?;
        QuotaUse::from_column(text).map_err(|error| rows::damaged(0, error))
    })?;
    Ok(claims.collect::<Result<_, _>>()?)
}
