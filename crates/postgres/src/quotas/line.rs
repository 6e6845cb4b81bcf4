//! The admission queue: groups, their lanes, and the executions in them.

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{LaneEntry, LaneHeads, LanePlace};
use pawl_kernel::quota::{Group, Lane, LaneId};
use pawl_kernel::time::Timestamp;

use super::rows;
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Time};

/// The ids of groups. One that is removed and made again has another.
pub(crate) type GroupIds = BTreeMap<Group, i64>;

/// The primary key of a lane; the key is empty where there is none.
pub(super) type LaneRow = (i64, String);

/// `None`: there is not even its group.
pub(super) fn lane_row(ids: &GroupIds, lane: &LaneId) -> Option<LaneRow> {
    let group_id = *ids.get(&lane.group)?;
    let key = lane.key.as_ref().map(ToString::to_string);
    Some((group_id, key.unwrap_or_default()))
}

pub(super) async fn waiting_groups(session: &Session) -> Outcome<GroupIds> {
    session.ready(&[&sql::ADMISSION_GROUPS_WAITING]).await?;
    let rows = session.rows(&sql::ADMISSION_GROUPS_WAITING, &[]).await?;
    rows.iter().map(group).collect()
}

pub(super) async fn add_groups(session: &Session, groups: &BTreeSet<Group>) -> Outcome<()> {
    session.ready(&[&sql::ADMISSION_GROUPS_ADD]).await?;
    let columns = group_columns(&sql::ADMISSION_GROUPS_ADD, groups);
    let params = columns.params();
    session.rows(&sql::ADMISSION_GROUPS_ADD, &params).await?;
    Ok(())
}

pub(super) async fn find_groups(session: &Session, groups: &BTreeSet<Group>) -> Outcome<GroupIds> {
    session.ready(&[&sql::ADMISSION_GROUPS_FIND]).await?;
    let columns = group_columns(&sql::ADMISSION_GROUPS_FIND, groups);
    let params = columns.params();
    let rows = session.rows(&sql::ADMISSION_GROUPS_FIND, &params).await?;
    rows.iter().map(group).collect()
}

fn group_columns(sql: &'static Sql, groups: &BTreeSet<Group>) -> Columns<'static> {
    let mut columns = Columns::new(sql.kinds());
    for group in groups {
        columns.code(group.priority.code());
        columns.owned_text(Some(group.column()));
    }
    columns
}

pub(super) fn group(row: &tokio_postgres::Row) -> Outcome<(Group, i64)> {
    let mut reader = Reader::new(row);
    let id = reader.get()?;
    let priority = reader.code(PriorityClass::from_code)?;
    let wide = Group::names_of_column(&reader.text()?).map_err(Fault::Corrupt)?;
    Ok((Group { priority, wide }, id))
}

pub(super) async fn enter(session: &Session, ids: &GroupIds, entries: &[LaneEntry]) -> Outcome<()> {
    session.ready(&[&sql::ADMISSION_LANES_JOIN]).await?;
    let places = entries.iter().map(|entry| &entry.place);
    let added = places_by(session, &sql::ADMISSION_LINE_INSERT, ids, places).await?;
    let mut joined: BTreeMap<LaneRow, (u64, Option<Timestamp>)> = BTreeMap::new();
    for LaneEntry { place, open_at } in entries {
        if let Some(row) = lane_row(ids, &place.lane)
            && added.contains(&place.execution_id)
        {
            joined.entry(row).or_insert((0, *open_at)).0 += 1;
        }
    }
    let mut columns = Columns::new(sql::ADMISSION_LANES_JOIN.kinds());
    for ((group_id, key), (count, open_at)) in &joined {
        columns.count(group_id.unsigned_abs());
        columns.text(key.as_str());
        columns.count(*count);
        columns.time(*open_at);
    }
    if let Some(columns) = columns.non_empty() {
        let params = columns.params();
        session.rows(&sql::ADMISSION_LANES_JOIN, &params).await?;
    }
    Ok(())
}

pub(super) async fn leave(
    session: &Session,
    ids: &GroupIds,
    places: &[LanePlace],
    turns: &BTreeMap<LaneId, u64>,
) -> Outcome<()> {
    let gone = places_by(session, &sql::ADMISSION_LINE_DELETE, ids, places).await?;
    let mut left: BTreeMap<LaneRow, (u64, Option<u64>)> = BTreeMap::new();
    for place in places {
        if let Some(row) = lane_row(ids, &place.lane)
            && gone.contains(&place.execution_id)
        {
            let turn = turns.get(&place.lane).copied();
            left.entry(row).or_insert((0, turn)).0 += 1;
        }
    }
    shorten(session, &left).await
}

/// So many have left these lanes, and perhaps they were served. Lanes and groups without any execution go.
async fn shorten(session: &Session, left: &BTreeMap<LaneRow, (u64, Option<u64>)>) -> Outcome<()> {
    if left.is_empty() {
        return Ok(());
    }
    session
        .ready(&[
            &sql::ADMISSION_LANES_LEAVE,
            &sql::ADMISSION_LANES_REMOVE,
            &sql::ADMISSION_GROUPS_REMOVE,
        ])
        .await?;
    let mut leave = Columns::new(sql::ADMISSION_LANES_LEAVE.kinds());
    let mut remove = Columns::new(sql::ADMISSION_LANES_REMOVE.kinds());
    for ((group_id, key), (count, turn)) in left {
        leave.count(group_id.unsigned_abs());
        leave.text(key.as_str());
        leave.count(*count);
        leave.count(*turn);
        remove.count(group_id.unsigned_abs());
        remove.text(key.as_str());
    }
    let groups: BTreeSet<i64> = left.keys().map(|(group_id, _)| *group_id).collect();
    let groups: Vec<i64> = groups.into_iter().collect();
    let (leave, remove) = (leave.params(), remove.params());
    session.rows(&sql::ADMISSION_LANES_LEAVE, &leave).await?;
    session.rows(&sql::ADMISSION_LANES_REMOVE, &remove).await?;
    session
        .rows(&sql::ADMISSION_GROUPS_REMOVE, &[&groups])
        .await?;
    Ok(())
}

pub(super) async fn known(
    session: &Session,
    ids: &GroupIds,
    places: &[LanePlace],
) -> Outcome<BTreeSet<ExecutionId>> {
    places_by(session, &sql::ADMISSION_LINE_KNOWN, ids, places).await
}

/// The executions whose places a statement found, added or deleted.
async fn places_by<'a>(
    session: &Session,
    sql: &'static Sql,
    ids: &GroupIds,
    places: impl IntoIterator<Item = &'a LanePlace>,
) -> Outcome<BTreeSet<ExecutionId>> {
    let mut columns = Columns::new(sql.kinds());
    for place in places {
        if let Some((group_id, key)) = lane_row(ids, &place.lane) {
            columns.count(group_id.unsigned_abs());
            columns.owned_text(Some(key));
            columns.uuid(place.execution_id.0);
        }
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(BTreeSet::new());
    };
    session.ready(&[sql]).await?;
    let rows = session.rows(sql, &columns.params()).await?;
    let id = |row: &tokio_postgres::Row| Ok(ExecutionId(row.try_get(2)?));
    rows.iter().map(id).collect()
}

pub(super) async fn open_lanes(
    session: &Session,
    ids: &GroupIds,
    most: &BTreeMap<Group, u32>,
    now: Timestamp,
) -> Outcome<Vec<Lane>> {
    session.ready(&[&sql::ADMISSION_LANES_OPEN]).await?;
    let mut columns = Columns::new(&sql::ADMISSION_LANES_OPEN.kinds()[..2]);
    let mut by_id: BTreeMap<i64, &Group> = BTreeMap::new();
    for (group, most) in most {
        if let Some(id) = ids.get(group) {
            columns.count(id.unsigned_abs());
            columns.count(u64::from(*most));
            by_id.insert(*id, group);
        }
    }
    let now = Time(now);
    let mut params = columns.params();
    params.push(&now);
    let rows = session.rows(&sql::ADMISSION_LANES_OPEN, &params).await?;
    rows.iter().map(|row| lane(row, &by_id)).collect()
}

fn lane(row: &tokio_postgres::Row, groups: &BTreeMap<i64, &Group>) -> Outcome<Lane> {
    let mut reader = Reader::new(row);
    let group = groups.get(&reader.get()?).copied();
    let group = group.ok_or_else(|| Fault::Corrupt("a lane without a group".into()))?;
    Ok(Lane {
        group: group.clone(),
        key: rows::optional_name(&mut reader)?,
        turn: reader.count()?,
        waiting: reader.count()?,
    })
}

pub(super) async fn next_opening(session: &Session, now: Timestamp) -> Outcome<Option<Timestamp>> {
    session.ready(&[&sql::ADMISSION_LANES_NEXT]).await?;
    let next = session
        .rows(&sql::ADMISSION_LANES_NEXT, &[&Time(now)])
        .await?;
    let at = next.first().map(|row| Reader::new(row).optional_time());
    at.unwrap_or(Ok(None))
}

pub(super) async fn first(
    session: &Session,
    ids: &GroupIds,
    many: &BTreeMap<LaneId, u64>,
) -> Outcome<LaneHeads> {
    let mut lanes: BTreeMap<LaneRow, &LaneId> = BTreeMap::new();
    let mut columns = Columns::new(sql::ADMISSION_LINE_FIRST.kinds());
    for (lane, many) in many {
        if let Some(row) = lane_row(ids, lane) {
            columns.count(row.0.unsigned_abs());
            columns.owned_text(Some(row.1.clone()));
            columns.count(*many);
            lanes.insert(row, lane);
        }
    }
    session.ready(&[&sql::ADMISSION_LINE_FIRST]).await?;
    let params = columns.params();
    let rows = session.rows(&sql::ADMISSION_LINE_FIRST, &params).await?;
    let mut heads = LaneHeads::new();
    for row in &rows {
        let mut reader = Reader::new(row);
        let lane = lanes.get(&(reader.get()?, reader.text()?));
        let lane = lane.ok_or_else(|| Fault::Corrupt("a place without a lane".into()))?;
        let id = ExecutionId(reader.get()?);
        heads.entry(LaneId::clone(lane)).or_default().push_back(id);
    }
    Ok(heads)
}

pub(super) async fn turn(session: &Session) -> Outcome<u64> {
    session.ready(&[&sql::ADMISSION_TURN_READ]).await?;
    let turn = session.rows(&sql::ADMISSION_TURN_READ, &[]).await?;
    turn.first().map_or(Ok(0), |row| Reader::new(row).count())
}

pub(super) async fn write_turn(session: &Session, turn: u64) -> Outcome<()> {
    session.ready(&[&sql::ADMISSION_TURN_WRITE]).await?;
    let turn = i64::try_from(turn).unwrap_or(i64::MAX);
    session.rows(&sql::ADMISSION_TURN_WRITE, &[&turn]).await?;
    Ok(())
}

/// Until the end of the transaction. False: another transaction plans admissions.
pub(super) async fn lock_admission(session: &Session) -> Outcome<bool> {
    session.ready(&[&sql::ADMISSION_LOCK]).await?;
    let rows = session.rows(&sql::ADMISSION_LOCK, &[]).await?;
    Ok(rows.first().map_or(Ok(false), |row| row.try_get(0))?)
}
