//! The admission queue: groups, their lanes, and the executions in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{LaneEntry, LaneHeads, LanePlace};
use pawl_kernel::quota::{Group, Lane, LaneId, QuotaName};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows as quota_rows;
use crate::fault::JobResult;
use crate::{rows, sql};

pub(super) fn enter(connection: &Connection, entry: &LaneEntry) -> JobResult<()> {
    let LaneId { group, key } = &entry.place.lane;
    let group_id = match find_group(connection, group)? {
        Some(id) => id,
        None => add_group(connection, group)?,
    };
    let key = key_text(key.as_ref());
    let id = entry.place.execution_id.0;
    let added = connection
        .prepare_cached(sql::ADMISSION_LINE_INSERT)?
        .execute(params![group_id, key, id.as_bytes()])?;
    if added > 0 {
        let open_at = entry.open_at.map(Timestamp::as_micros);
        connection
            .prepare_cached(sql::ADMISSION_LANE_JOIN)?
            .execute(params![group_id, key, open_at])?;
    }
    Ok(())
}

pub(super) fn leave(connection: &Connection, place: &LanePlace) -> JobResult<()> {
    let Some(lane) = find_lane(connection, &place.lane)? else {
        return Ok(());
    };
    if delete_from_line(connection, &lane, place.execution_id)? == 0 {
        return Ok(());
    }
    let left: Option<i64> = connection
        .prepare_cached(sql::ADMISSION_LANE_LEAVE)?
        .query_row(params![lane.group_id, lane.key], |row| row.get(0))
        .optional()?;
    match left {
        Some(1..) | None => Ok(()),
        Some(_) => delete_lane(connection, &lane),
    }
}

pub(super) fn set_turn(connection: &Connection, lane: &LaneId, turn: u64) -> JobResult<()> {
    if let Some(lane) = find_lane(connection, lane)? {
        connection
            .prepare_cached(sql::ADMISSION_LANE_TURN)?
            .execute(params![lane.group_id, lane.key, rows::integer(turn)])?;
    }
    Ok(())
}

pub(super) fn is_known(connection: &Connection, place: &LanePlace) -> JobResult<bool> {
    let Some(lane) = find_lane(connection, &place.lane)? else {
        return Ok(false);
    };
    let mut statement = connection.prepare_cached(sql::ADMISSION_LINE_KNOWN)?;
    let id = place.execution_id.0;
    Ok(statement.exists(params![lane.group_id, lane.key, id.as_bytes()])?)
}

fn delete_from_line(connection: &Connection, place: &LaneRow, id: ExecutionId) -> JobResult<usize> {
    let deleted = connection
        .prepare_cached(sql::ADMISSION_LINE_DELETE)?
        .execute(params![place.group_id, place.key, id.0.as_bytes()])?;
    Ok(deleted)
}

pub(super) fn delete_lane(connection: &Connection, place: &LaneRow) -> JobResult<()> {
    connection
        .prepare_cached(sql::ADMISSION_LANE_DELETE)?
        .execute(params![place.group_id, place.key])?;
    connection
        .prepare_cached(sql::ADMISSION_GROUP_DELETE)?
        .execute([place.group_id])?;
    Ok(())
}

/// The primary key of a lane.
pub(super) struct LaneRow {
    pub(super) group_id: i64,
    pub(super) key: String,
}

/// `None`: there is not even its group.
pub(super) fn find_lane(connection: &Connection, lane: &LaneId) -> JobResult<Option<LaneRow>> {
    let found = find_group(connection, &lane.group)?;
    Ok(found.map(|group_id| LaneRow {
        group_id,
        key: key_text(lane.key.as_ref()).to_owned(),
    }))
}

fn key_text(key: Option<&QuotaName>) -> &str {
    key.map_or("", QuotaName::as_str)
}

fn find_group(connection: &Connection, group: &Group) -> JobResult<Option<i64>> {
    let id = connection
        .prepare_cached(sql::ADMISSION_GROUP_FIND)?
        .query_row(params![group.priority.code(), group.column()], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(id)
}

fn add_group(connection: &Connection, group: &Group) -> JobResult<i64> {
    connection
        .prepare_cached(sql::ADMISSION_GROUP_INSERT)?
        .execute(params![group.priority.code(), group.column()])?;
    Ok(connection.last_insert_rowid())
}

pub(super) fn groups(connection: &Connection) -> JobResult<Vec<(i64, Group)>> {
    let mut statement = connection.prepare_cached(sql::ADMISSION_GROUPS)?;
    let found = statement.query_map([], |row| {
        let priority = PriorityClass::from_code(row.get(1)?);
        let wide = Group::names_of_column(row.get_ref(2)?.as_str()?);
        let wide: Arc<[QuotaName]> = wide.map_err(|error| quota_rows::damaged(2, error))?;
        let priority = priority.ok_or_else(|| quota_rows::damaged(1, "no priority"))?;
        Ok((row.get(0)?, Group { priority, wide }))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn open_lanes(
    connection: &Connection,
    most: &BTreeMap<Group, u32>,
    now: Timestamp,
) -> JobResult<Vec<Lane>> {
    let mut lanes = Vec::new();
    for (group, most) in most {
        if let Some(id) = find_group(connection, group)? {
            lanes.extend(lanes_of_group(connection, id, group, now, *most)?);
        }
    }
    Ok(lanes)
}

fn lanes_of_group(
    connection: &Connection,
    group_id: i64,
    group: &Group,
    now: Timestamp,
    most: u32,
) -> JobResult<Vec<Lane>> {
    let mut statement = connection.prepare_cached(sql::ADMISSION_LANES_OPEN)?;
    let found = statement.query_map(params![group_id, now.as_micros(), most], |row| {
        Ok(Lane {
            group: group.clone(),
            key: quota_rows::optional_name(row, 0)?,
            turn: rows::count(row, 1)?,
            waiting: rows::count(row, 2)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn first(connection: &Connection, many: &BTreeMap<LaneId, u64>) -> JobResult<LaneHeads> {
    let mut statement = connection.prepare_cached(sql::ADMISSION_LINE_FIRST)?;
    let mut heads = LaneHeads::new();
    for (lane, many) in many {
        let Some(row) = find_lane(connection, lane)? else {
            continue;
        };
        let key = params![row.group_id, row.key, rows::integer(*many)];
        let ids = statement.query_map(key, |row| rows::uuid(row, 0).map(ExecutionId))?;
        let ids: VecDeque<ExecutionId> = ids.collect::<Result<_, _>>()?;
        heads.insert(lane.clone(), ids);
    }
    Ok(heads)
}

pub(super) fn known(
    connection: &Connection,
    places: &[LanePlace],
) -> JobResult<BTreeSet<ExecutionId>> {
    let mut known = BTreeSet::new();
    for place in places {
        if is_known(connection, place)? {
            known.insert(place.execution_id);
        }
    }
    Ok(known)
}

pub(super) fn next_opening(
    connection: &Connection,
    now: Timestamp,
) -> JobResult<Option<Timestamp>> {
    let at = connection
        .prepare_cached(sql::ADMISSION_LANES_NEXT)?
        .query_row([now.as_micros()], |row| rows::optional_time(row, 0))?;
    Ok(at)
}

pub(super) fn turn(connection: &Connection) -> JobResult<u64> {
    let turn = connection
        .prepare_cached(sql::ADMISSION_TURN_READ)?
        .query_row([], |row| rows::count(row, 0))?;
    Ok(turn)
}

pub(super) fn write_turn(connection: &Connection, turn: u64) -> JobResult<()> {
    connection
        .prepare_cached(sql::ADMISSION_TURN_WRITE)?
        .execute([rows::integer(turn)])?;
    Ok(())
}
