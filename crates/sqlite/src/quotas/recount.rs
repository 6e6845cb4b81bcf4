//! Are the counters what the rows add up to? The look is a reader's, and sees one moment, in which they must be; the
//! writer is bothered only if they are not.

use std::collections::BTreeMap;

use pawl_kernel::ports::quotas::Recount;
use pawl_kernel::quota::{Quota, QuotaClaim, QuotaName};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

use super::{line, rows};
use crate::fault::JobResult;
use crate::rows::{self as execution_rows, integer};
use crate::sql;

/// What is wrong.
#[derive(Default)]
pub(super) struct Found {
    pub(super) quotas: Vec<Recount>,
    lanes: Vec<Lane>,
}

impl Found {
    pub(super) fn is_nothing(&self) -> bool {
        self.quotas.is_empty() && self.lanes.is_empty()
    }
}

struct Lane {
    group_id: i64,
    key: Option<QuotaName>,
    /// `None`: somebody stands in it, and it is not there.
    counted: Option<u64>,
    really: u64,
}

/// Used and waiting: what the row says, and what there is.
type Counts = BTreeMap<QuotaName, [(u64, u64); 2]>;

pub(super) fn look(connection: &Connection) -> JobResult<Found> {
    let mut counts = Counts::new();
    let mut statement = connection.prepare_cached(sql::QUOTAS_ALL)?;
    for quota in statement.query_map([], rows::quota)? {
        let quota = quota?;
        counts.entry(quota.name).or_default()[0] = (quota.used, quota.waiting);
    }
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDERS_COUNT)?;
    let held = |row: &rusqlite::Row<'_>| Ok((rows::name(row, 0)?, execution_rows::count(row, 1)?));
    for held in statement.query_map([], held)? {
        let (name, used) = held?;
        counts.entry(name).or_default()[1].0 = used;
    }
    let lanes = look_at_lanes(connection, &mut counts)?;
    let wrong = counts.into_iter().filter(|(_, [says, is])| says != is);
    let recount = |(name, [says, is]): (QuotaName, [(u64, u64); 2])| Recount {
        name,
        used: says.0,
        really_used: is.0,
        waiting: says.1,
        really_waiting: is.1,
    };
    Ok(Found {
        quotas: wrong.map(recount).collect(),
        lanes,
    })
}

/// Counts the line itself; returns the lanes that count wrongly.
fn look_at_lanes(connection: &Connection, counts: &mut Counts) -> JobResult<Vec<Lane>> {
    let groups: BTreeMap<i64, _> = line::groups(connection)?.into_iter().collect();
    let mut statement = connection.prepare_cached(sql::ADMISSION_LANES_ALL)?;
    let lanes = statement.query_map([], |row| {
        Ok(Lane {
            group_id: row.get(0)?,
            key: rows::optional_name(row, 1)?,
            counted: match row.get::<_, Option<i64>>(2)? {
                None => None,
                Some(_) => Some(execution_rows::count(row, 2)?),
            },
            really: execution_rows::count(row, 3)?,
        })
    })?;
    let mut wrong = Vec::new();
    for lane in lanes {
        let lane = lane?;
        let wide = groups.get(&lane.group_id).map(|group| group.wide.iter());
        for name in wide.into_iter().flatten().chain(&lane.key) {
            counts.entry(name.clone()).or_default()[1].1 += lane.really;
        }
        if lane.counted != Some(lane.really) {
            wrong.push(lane);
        }
    }
    Ok(wrong)
}

/// In the transaction that looked.
pub(super) fn mend(connection: &Connection, found: &Found, now: Timestamp) -> JobResult<()> {
    for lane in &found.lanes {
        let key = lane.key.as_ref().map_or("", QuotaName::as_str);
        if lane.really == 0 {
            let mut statement = connection.prepare_cached(sql::ADMISSION_LANE_DELETE)?;
            statement.execute(params![lane.group_id, key])?;
            continue;
        }
        connection
            .prepare_cached(sql::ADMISSION_LANE_COUNTED)?
            .execute(params![lane.group_id, key, integer(lane.really)])?;
    }
    for wrong in &found.quotas {
        connection
            .prepare_cached(sql::QUOTA_HOLDERS_STRAY)?
            .execute([wrong.name.as_str()])?;
        let row = rows::load(connection, &wrong.name)?;
        let mut quota = row.unwrap_or_else(|| Quota::unset(wrong.name.clone(), now));
        if quota.limit().is_none() && quota.source.is_none() {
            learn(connection, &mut quota)?;
        }
        quota.used = wrong.really_used;
        quota.waiting = wrong.really_waiting;
        quota.updated_at = now;
        rows::put(connection, &quota, now)?;
    }
    Ok(())
}

/// A row that was missing has lost the limit too. Those who count against it remember what their schema asked for.
fn learn(connection: &Connection, quota: &mut Quota) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::QUOTA_CLAIMS)?;
    let claims = statement.query_map([quota.name.as_str()], |row| {
        let text = row.get_ref(0)?.as_str_or_null()?;
        QuotaClaim::from_column(text).map_err(|error| rows::damaged(0, error))
    })?;
    for claims in claims {
        let own = claims?.into_iter().find(|claim| claim.name == quota.name);
        let Some((limit, version)) = own.and_then(|claim| claim.settings) else {
            continue;
        };
        if quota.settings_limit.is_none() || version > quota.settings_version {
            quota.settings_limit = Some(limit);
            quota.settings_version = version;
        }
    }
    Ok(())
}
