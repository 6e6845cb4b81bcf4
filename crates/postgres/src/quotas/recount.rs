//! What quotas and lanes count, and what there is.

use std::collections::HashMap;

use pawl_kernel::operations::{LaneCount, QuotaCounts};
use pawl_kernel::ports::quotas::Miscounts;
use pawl_kernel::quota::{Group, LaneId, QuotaKind, QuotaName, QuotaUse};
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use super::line::{self, GroupIds};
use super::rows;
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::value::{Columns, Text};

const SAME_MOMENT: &str = include_str!("../../sql/templates/same_moment.sql");

pub(super) async fn look(session: &Session) -> Outcome<Miscounts> {
    session.begin().await?;
    session.script(SAME_MOMENT).await?;
    let mut counts = QuotaCounts::default();
    for row in &session.rows(&sql::QUOTAS_COUNTERS, &[]).await? {
        let mut reader = Reader::new(row);
        let name = rows::name(&mut reader)?;
        counts.says(name, reader.count()?, reader.count()?);
    }
    for row in &session.rows(&sql::QUOTA_HOLDERS_COUNT, &[]).await? {
        let mut reader = Reader::new(row);
        counts.is_held(rows::name(&mut reader)?, reader.count()?);
    }
    let groups = groups(session).await?;
    for row in &session.rows(&sql::ADMISSION_LANES_ALL, &[]).await? {
        if let Some(lane) = lane(row, &groups)? {
            counts.has_lane(&lane);
        }
    }
    session.commit().await?;
    Ok(counts.wrong())
}

type Groups = HashMap<i64, Group>;

async fn groups(session: &Session) -> Outcome<Groups> {
    let rows = session.rows(&sql::ADMISSION_GROUPS, &[]).await?;
    let group = |row| line::group(row).map(|(group, id)| (id, group));
    rows.iter().map(group).collect()
}

/// `None`: its group is gone.
fn lane(row: &Row, groups: &Groups) -> Outcome<Option<LaneCount>> {
    let mut reader = Reader::new(row);
    let Some(group) = groups.get(&reader.get()?).cloned() else {
        return Ok(None);
    };
    let key = rows::optional_name(&mut reader)?;
    let counted: Option<i64> = reader.get()?;
    Ok(Some(LaneCount {
        lane: LaneId { group, key },
        // Less than none is as wrong as can be.
        counted: counted.map(|count| u64::try_from(count).unwrap_or(u64::MAX)),
        really: reader.count()?,
    }))
}

/// The groups of its lanes; and which of their lanes, if it is a quota of a key.
fn where_it_is_waited_for<'a>(
    groups: &Groups,
    name: &'a QuotaName,
) -> (Vec<i64>, Option<Text<'a>>) {
    let all = groups.iter();
    match name.kind() {
        QuotaKind::Key => {
            let key = Text::new(name.as_str());
            (all.map(|(id, _)| *id).collect(), Some(key))
        }
        QuotaKind::Schema | QuotaKind::Tenant => {
            let wide = all.filter(|(_, group)| group.wide.contains(name));
            (wide.map(|(id, _)| *id).collect(), None)
        }
    }
}

pub(super) async fn lanes(session: &Session, name: &QuotaName) -> Outcome<Vec<LaneCount>> {
    let groups = groups(session).await?;
    let (group_ids, key) = where_it_is_waited_for(&groups, name);
    let rows = session
        .rows(&sql::ADMISSION_LANES_OF_GROUPS, &[&group_ids, &key])
        .await?;
    let lanes = rows.iter().map(|row| lane(row, &groups));
    lanes.filter_map(Outcome::transpose).collect()
}

pub(super) async fn times_held(session: &Session, name: &QuotaName) -> Outcome<u64> {
    let name = Text::new(name.as_str());
    let used = session.rows(&sql::QUOTA_HOLDERS_COUNT_OF, &[&name]).await?;
    used.first().map_or(Ok(0), |row| Reader::new(row).count())
}

pub(super) async fn remove_strays(session: &Session, name: &QuotaName) -> Outcome<()> {
    let one = [Text::new(name.as_str())];
    session
        .rows(&sql::QUOTA_HOLDERS_STRAY, &[&one.as_slice()])
        .await?;
    Ok(())
}

pub(super) async fn quotas_of_users(
    session: &Session,
    name: &QuotaName,
) -> Outcome<Vec<Vec<QuotaUse>>> {
    let groups = groups(session).await?;
    let (group_ids, key) = where_it_is_waited_for(&groups, name);
    let name = Text::new(name.as_str());
    let rows = session
        .rows(&sql::QUOTA_CLAIMS, &[&name, &group_ids, &key])
        .await?;
    let claims = |row: &Row| {
        let text = Reader::new(row).optional_text()?;
        QuotaUse::from_column(text.as_deref()).map_err(Fault::Corrupt)
    };
    rows.iter().map(claims).collect()
}

pub(super) async fn put_lanes(
    session: &Session,
    ids: &GroupIds,
    lanes: &[LaneCount],
) -> Outcome<()> {
    let mut counted = Columns::new(sql::ADMISSION_LANES_COUNTED.kinds());
    let mut missing = Columns::new(sql::ADMISSION_LANES_JOIN.kinds());
    let mut empty = Columns::new(sql::ADMISSION_LANES_REMOVE.kinds());
    for count in lanes {
        let Some((group_id, key)) = line::lane_row(ids, &count.lane) else {
            continue;
        };
        if count.really == 0 {
            empty.count(group_id.unsigned_abs());
            empty.owned_text(Some(key.clone()));
        }
        let is_missing = count.counted.is_none();
        let columns = if is_missing {
            &mut missing
        } else {
            &mut counted
        };
        columns.count(group_id.unsigned_abs());
        columns.owned_text(Some(key));
        columns.count(count.really);
        if is_missing {
            missing.time(Timestamp::default());
        }
    }
    // In this order: a lane goes only if it says that it is empty.
    for (sql, columns) in [
        (&sql::ADMISSION_LANES_COUNTED, counted),
        (&sql::ADMISSION_LANES_JOIN, missing),
        (&sql::ADMISSION_LANES_REMOVE, empty),
    ] {
        if let Some(columns) = columns.non_empty() {
            session.rows(sql, &columns.params()).await?;
        }
    }
    Ok(())
}
