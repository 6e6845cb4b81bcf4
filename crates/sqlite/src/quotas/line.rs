//! Entering, standing in line, being admitted, giving back: what a transaction of the writer does to the rows of
//! quotas besides those of the execution.

use std::collections::BTreeMap;
use std::sync::Arc;

use pawl_kernel::execution::{Head, PriorityClass};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle;
use pawl_kernel::ports::quotas::Admitted;
use pawl_kernel::ports::store::{Created, Dispatch, NewExecution};
use pawl_kernel::quota::{
    self, Board, Book, Group, Lane, Movement, Place, Quota, QuotaClaim, QuotaName,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Decision;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows as quota_rows;
use crate::fault::{Fault, JobResult};
use crate::rows;
use crate::{changes, sql};

/// A new execution as it is to be written, if quotas concern it.
pub(crate) struct Entry {
    pub(crate) new: Box<NewExecution>,
    place: Place,
    book: Book,
}

/// `None`: no quota concerns it.
pub(crate) fn enter(connection: &Connection, new: &NewExecution) -> JobResult<Option<Entry>> {
    if new.execution.head.quotas.is_empty() {
        return Ok(None);
    }
    let set = quota_rows::set_names(connection)?;
    let concerns = |claim: &QuotaClaim| claim.settings.is_some() || set.contains(&claim.name);
    if !new.execution.head.quotas.iter().any(concerns) {
        return Ok(None);
    }
    let mut new = Box::new(new.clone());
    let mut book = open_book(connection, &new.execution.head.quotas, new.state.updated_at)?;
    let place = book.enter(&mut new);
    Ok(Some(Entry { new, place, book }))
}

impl Entry {
    pub(crate) fn answer(&self) -> Created {
        match self.place {
            Place::Free | Place::Later => Created::New,
            Place::Holds => Created::Admitted,
            Place::InLine => Created::InLine,
        }
    }

    /// Called once the execution's own rows are written.
    pub(crate) fn write(self, connection: &Connection) -> JobResult<()> {
        let (execution, now) = (&self.new.execution, self.new.state.updated_at);
        match self.place {
            Place::Free | Place::Later => return Ok(()),
            Place::Holds => hold(connection, execution.head.id, &execution.head.quotas, now)?,
            Place::InLine => put_in_line(connection, &execution.head, &self.book, now)?,
        }
        close_book(connection, self.book, now)
    }
}

/// What the change of an execution does to its quotas.
pub(crate) fn follow(connection: &Connection, decision: &Decision) -> JobResult<()> {
    let head = &decision.before.head;
    let movement = decision.movement();
    if movement == Movement::None {
        return Ok(());
    }
    let now = decision.change.state.updated_at;
    let mut book = open_book(connection, &head.quotas, now)?;
    match movement {
        Movement::None => {}
        Movement::LineUp => {
            book.line_up(&head.quotas);
            put_in_line(connection, head, &book, now)?;
        }
        Movement::Leave => {
            book.leave(&head.quotas);
            take_out_of_line(connection, head)?;
        }
        Movement::Release => release(connection, head, &mut book)?,
    }
    close_book(connection, book, now)
}

pub(super) fn open_book(
    connection: &Connection,
    claims: &[QuotaClaim],
    now: Timestamp,
) -> JobResult<Book> {
    let load = |claim: &QuotaClaim| quota_rows::load(connection, &claim.name).transpose();
    let rows: Vec<Quota> = claims.iter().filter_map(load).collect::<Result<_, _>>()?;
    Ok(Book::open(rows, now))
}

pub(super) fn close_book(connection: &Connection, book: Book, now: Timestamp) -> JobResult<()> {
    for quota in book.close() {
        quota_rows::put(connection, &quota, now)?;
    }
    Ok(())
}

fn hold(
    connection: &Connection,
    id: ExecutionId,
    claims: &[QuotaClaim],
    now: Timestamp,
) -> JobResult<()> {
    for claim in claims {
        add_holder(connection, &claim.name, id, now)?;
    }
    Ok(())
}

pub(super) fn add_holder(
    connection: &Connection,
    name: &QuotaName,
    id: ExecutionId,
    now: Timestamp,
) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_INSERT)?;
    statement.execute(params![name.as_str(), id.0.as_bytes(), now.as_micros()])?;
    Ok(())
}

/// The counters follow the rows: what is not there is not given back twice.
fn release(connection: &Connection, head: &Head, book: &mut Book) -> JobResult<()> {
    let mut statement = connection.prepare_cached(sql::QUOTA_HOLDER_DELETE)?;
    for claim in &head.quotas {
        let key = params![claim.name.as_str(), head.id.0.as_bytes()];
        if statement.execute(key)? > 0 {
            book.release(&claim.name);
        }
    }
    Ok(())
}

pub(super) fn put_in_line(
    connection: &Connection,
    head: &Head,
    book: &Book,
    now: Timestamp,
) -> JobResult<()> {
    let (group, key) = Lane::of(head.priority, &head.quotas);
    let group_id = match find_group(connection, &group)? {
        Some(id) => id,
        None => add_group(connection, &group)?,
    };
    let key_text = key_text(key.as_ref());
    let added = connection
        .prepare_cached(sql::ADMISSION_LINE_INSERT)?
        .execute(params![group_id, key_text, head.id.0.as_bytes()])?;
    if added == 0 {
        return Ok(());
    }
    let open_at = match key.as_ref().and_then(|key| book.row(key)) {
        Some(quota) => quota.opens_at(now).map(Timestamp::as_micros),
        None => Some(0),
    };
    connection
        .prepare_cached(sql::ADMISSION_LANE_JOIN)?
        .execute(params![group_id, key_text, open_at])?;
    Ok(())
}

pub(super) fn take_out_of_line(connection: &Connection, head: &Head) -> JobResult<()> {
    let Some(place) = find_place(connection, head)? else {
        return Ok(());
    };
    if delete_from_line(connection, &place, head.id)? == 0 {
        return Ok(());
    }
    let left: Option<i64> = connection
        .prepare_cached(sql::ADMISSION_LANE_LEAVE)?
        .query_row(params![place.group_id, place.key], |row| row.get(0))
        .optional()?;
    match left {
        Some(1..) | None => Ok(()),
        Some(_) => delete_lane(connection, &place),
    }
}

fn delete_from_line(
    connection: &Connection,
    place: &LanePlace,
    id: ExecutionId,
) -> JobResult<usize> {
    let deleted = connection
        .prepare_cached(sql::ADMISSION_LINE_DELETE)?
        .execute(params![place.group_id, place.key, id.0.as_bytes()])?;
    Ok(deleted)
}

fn delete_lane(connection: &Connection, place: &LanePlace) -> JobResult<()> {
    connection
        .prepare_cached(sql::ADMISSION_LANE_DELETE)?
        .execute(params![place.group_id, place.key])?;
    connection
        .prepare_cached(sql::ADMISSION_GROUP_DELETE)?
        .execute([place.group_id])?;
    Ok(())
}

/// The primary key of a lane.
pub(super) struct LanePlace {
    pub(super) group_id: i64,
    pub(super) key: String,
}

/// The lane an execution belongs in, if there is one.
pub(super) fn find_place(connection: &Connection, head: &Head) -> JobResult<Option<LanePlace>> {
    let (group, key) = Lane::of(head.priority, &head.quotas);
    let found = find_group(connection, &group)?;
    Ok(found.map(|group_id| LanePlace {
        group_id,
        key: key_text(key.as_ref()).to_owned(),
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

/// Everybody who could be admitted now, and where their lanes are.
struct Look {
    board: Board,
    group_ids: BTreeMap<Group, i64>,
}

/// Reads all groups and their quotas, but of each group only as many lanes as there is room for.
fn look(connection: &Connection, now: Timestamp, max: u32) -> JobResult<Look> {
    let group_ids: BTreeMap<Group, i64> = groups(connection)?
        .into_iter()
        .map(|(id, group)| (group, id))
        .collect();
    let mut quotas = BTreeMap::new();
    for name in group_ids.keys().flat_map(|group| group.wide.iter()) {
        load_into(connection, &mut quotas, name)?;
    }
    let mut lanes = Vec::new();
    for (group, id) in &group_ids {
        let most = group.lanes_to_look_at(&quotas, now, max);
        if most > 0 {
            lanes.extend(open_lanes(connection, *id, group, now, most)?);
        }
    }
    for lane in &lanes {
        if let Some(key) = &lane.key {
            load_into(connection, &mut quotas, key)?;
        }
    }
    let turn = connection
        .prepare_cached(sql::ADMISSION_TURN_READ)?
        .query_row([], |row| rows::count(row, 0))?;
    let board = Board::new(quotas, lanes, turn, now);
    Ok(Look { board, group_ids })
}

fn load_into(
    connection: &Connection,
    quotas: &mut BTreeMap<QuotaName, Quota>,
    name: &QuotaName,
) -> JobResult<()> {
    if !quotas.contains_key(name)
        && let Some(quota) = quota_rows::load(connection, name)?
    {
        quotas.insert(name.clone(), quota);
    }
    Ok(())
}

fn open_lanes(
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

pub(super) fn admit(
    connection: &Connection,
    now: Timestamp,
    max: u32,
    shards: u32,
) -> JobResult<Admitted> {
    let Look {
        mut board,
        group_ids,
    } = look(connection, now, max)?;
    if group_ids.is_empty() {
        return Ok(Admitted::default());
    }
    let mut dispatches = Vec::new();
    while dispatches.len() < max as usize
        && let Some(lane) = board.next()
    {
        let place = place_of(board.lane(lane), &group_ids)?;
        match admit_first(connection, &place, now, shards)? {
            Some(dispatch) => {
                board.admit(lane);
                dispatches.push(dispatch);
            }
            None => board.forget(lane),
        }
    }
    write_outcome(connection, board.close(), &group_ids, now)?;
    let (waiting, look_again_at) = what_is_left(connection, now)?;
    Ok(Admitted {
        dispatches,
        waiting,
        look_again_at,
    })
}

fn place_of(lane: &Lane, group_ids: &BTreeMap<Group, i64>) -> JobResult<LanePlace> {
    let group_id = group_ids.get(&lane.group).copied();
    let group_id = group_id.ok_or_else(|| Fault::Corrupt("a lane without a group".into()))?;
    let key = key_text(lane.key.as_ref()).to_owned();
    Ok(LanePlace { group_id, key })
}

/// `None`: the first row of the line was of somebody who does not stand there; it is gone now.
fn admit_first(
    connection: &Connection,
    place: &LanePlace,
    now: Timestamp,
    shards: u32,
) -> JobResult<Option<Dispatch>> {
    let first = connection
        .prepare_cached(sql::ADMISSION_LINE_FIRST)?
        .query_row(params![place.group_id, place.key], |row| rows::uuid(row, 0))
        .optional()?;
    let Some(id) = first.map(ExecutionId) else {
        return Ok(None);
    };
    delete_from_line(connection, place, id)?;
    let Some(before) = rows::load_subject(connection, id)? else {
        return Ok(None);
    };
    let Some(change) = lifecycle::admit(&before.head, &before.state, now) else {
        return Ok(None);
    };
    let decision = Decision { before, change };
    changes::write(connection, &decision, shards)?;
    hold(connection, id, &decision.before.head.quotas, now)?;
    Ok(decision.dispatch())
}

fn write_outcome(
    connection: &Connection,
    outcome: quota::board::Outcome,
    group_ids: &BTreeMap<Group, i64>,
    now: Timestamp,
) -> JobResult<()> {
    if outcome.lanes.is_empty() {
        return Ok(());
    }
    for lane in &outcome.lanes {
        let place = place_of(lane, group_ids)?;
        if lane.waiting == 0 {
            delete_lane(connection, &place)?;
            continue;
        }
        connection
            .prepare_cached(sql::ADMISSION_LANE_UPDATE)?
            .execute(params![
                place.group_id,
                place.key,
                rows::integer(lane.turn),
                rows::integer(lane.waiting)
            ])?;
    }
    for quota in &outcome.quotas {
        quota_rows::put(connection, quota, now)?;
    }
    connection
        .prepare_cached(sql::ADMISSION_TURN_WRITE)?
        .execute([rows::integer(outcome.turn)])?;
    Ok(())
}

/// Does anybody still wait, and when will a rate let the next one in?
fn what_is_left(connection: &Connection, now: Timestamp) -> JobResult<(bool, Option<Timestamp>)> {
    let groups: Vec<Group> = groups(connection)?.into_iter().map(|(_, g)| g).collect();
    let mut quotas = BTreeMap::new();
    for name in groups.iter().flat_map(|group| group.wide.iter()) {
        load_into(connection, &mut quotas, name)?;
    }
    let by_group = quota::board::next_by_rate(&groups, &quotas, now);
    let by_key = connection
        .prepare_cached(sql::ADMISSION_LANES_NEXT)?
        .query_row([now.as_micros()], |row| rows::optional_time(row, 0))?;
    let again = by_group.into_iter().chain(by_key).min();
    Ok((!groups.is_empty(), again))
}
