//! One look of a scheduler. First a plan, read without locks; then the executions of the plan are locked, then their
//! quotas, and with what is true now it is decided who really comes in. So whoever ends meanwhile waits for nobody
//! in a circle, and a limit is checked under the lock of its row.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle;
use pawl_kernel::ports::quotas::Admitted;
use pawl_kernel::ports::store::Dispatch;
use pawl_kernel::quota::board::{Outcome as BoardOutcome, next_by_rate};
use pawl_kernel::quota::{Board, Group, Lane, Quota, QuotaName};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Decision;

use super::line::{self, LaneKey};
use super::rows;
use crate::changes;
use crate::error::{Fault, Outcome};
use crate::heads::lock_free_heads;
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Time};

static STATEMENTS: &[&Sql] = &[
    &sql::ADMISSION_GROUPS_WAITING,
    &sql::ADMISSION_LANES_OPEN,
    &sql::ADMISSION_LANES_NEXT,
    &sql::ADMISSION_LINE_FIRST,
    &sql::ADMISSION_LINE_KNOWN,
    &sql::ADMISSION_TURN_READ,
    &sql::ADMISSION_TURN_WRITE,
    &sql::EXECUTIONS_QUEUED,
];

pub(super) async fn admit(
    session: &Session,
    now: Timestamp,
    max: u32,
    shards: u32,
) -> Outcome<Admitted> {
    // Nearly always there is no line, and nothing to lock.
    let waiting = session.alone(&sql::ADMISSION_GROUPS_WAITING, &[]).await?;
    if waiting.is_empty() {
        return Ok(Admitted::default());
    }
    let mine = session.begin_with(&sql::ADMISSION_LOCK, &[]).await?;
    let mine: bool = mine.first().map_or(Ok(false), |row| row.try_get(0))?;
    if !mine {
        session.roll_back().await?;
        return Ok(Admitted {
            waiting: true,
            ..Admitted::default()
        });
    }
    session.ready(STATEMENTS).await?;
    session.ready(rows::STATEMENTS).await?;
    session.ready(line::STATEMENTS).await?;
    let scene = Scene::read(session, now, max).await?;
    let plan = scene.plan(now, max);
    let dispatches = match plan.is_empty() {
        true => Vec::new(),
        false => carry_out(session, &scene, &plan, now, max, shards).await?,
    };
    let admitted = what_is_left(session, dispatches, now).await?;
    session.commit().await?;
    Ok(admitted)
}

/// What a plan is made from.
struct Scene {
    groups: BTreeMap<Group, i64>,
    quotas: BTreeMap<QuotaName, Quota>,
    lanes: Vec<Lane>,
    turn: u64,
}

/// How many of each lane are to come in.
type Plan = BTreeMap<LaneKey, u64>;

impl Scene {
    /// All groups and their quotas, but of each group only as many lanes as there is room for.
    async fn read(session: &Session, now: Timestamp, max: u32) -> Outcome<Self> {
        let groups = groups(session).await?;
        let wide: BTreeSet<&QuotaName> = groups.keys().flat_map(|group| &*group.wide).collect();
        let mut quotas = rows::load(session, &wide).await?;
        let mut most = Columns::new(&sql::ADMISSION_LANES_OPEN.kinds()[..2]);
        for (group, id) in &groups {
            most.count(id.unsigned_abs());
            most.count(u64::from(group.lanes_to_look_at(&quotas, now, max)));
        }
        let now = Time(now);
        let mut params = most.params();
        params.push(&now);
        let found = session.rows(&sql::ADMISSION_LANES_OPEN, &params).await?;
        let by_id: HashMap<i64, &Group> = groups.iter().map(|(group, id)| (*id, group)).collect();
        let lanes: Vec<Lane> = found
            .iter()
            .map(|row| lane(row, &by_id))
            .collect::<Outcome<_>>()?;
        let keys: BTreeSet<&QuotaName> =
            lanes.iter().filter_map(|lane| lane.key.as_ref()).collect();
        quotas.extend(rows::load(session, &keys).await?);
        let turn = session.rows(&sql::ADMISSION_TURN_READ, &[]).await?;
        let turn = turn.first().map_or(Ok(0), |row| Reader::new(row).count())?;
        Ok(Self {
            groups,
            quotas,
            lanes,
            turn,
        })
    }

    fn place(&self, lane: &Lane) -> LaneKey {
        let group_id = self.groups.get(&lane.group).copied().unwrap_or_default();
        let key = lane.key.as_ref().map(ToString::to_string);
        (group_id, key.unwrap_or_default())
    }

    fn plan(&self, now: Timestamp, max: u32) -> Plan {
        let mut board = Board::new(self.quotas.clone(), self.lanes.clone(), self.turn, now);
        let mut plan = Plan::new();
        for _ in 0..max {
            let Some(lane) = board.next() else { break };
            *plan.entry(self.place(board.lane(lane))).or_default() += 1;
            board.admit(lane);
        }
        plan
    }
}

async fn groups(session: &Session) -> Outcome<BTreeMap<Group, i64>> {
    let rows = session.rows(&sql::ADMISSION_GROUPS_WAITING, &[]).await?;
    rows.iter().map(line::group).collect()
}

fn lane(row: &tokio_postgres::Row, groups: &HashMap<i64, &Group>) -> Outcome<Lane> {
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

async fn carry_out(
    session: &Session,
    scene: &Scene,
    plan: &Plan,
    now: Timestamp,
    max: u32,
    shards: u32,
) -> Outcome<Vec<Dispatch>> {
    let mut lines = first_in_line(session, plan).await?;
    let ids = lines.values().flatten().map(|id| id.0).collect();
    let mut heads = lock_free_heads(session, ids).await?;
    let planned = scene
        .lanes
        .iter()
        .filter(|lane| plan.contains_key(&scene.place(lane)));
    let planned: Vec<Lane> = planned.cloned().collect();
    let names: BTreeSet<&QuotaName> = planned
        .iter()
        .flat_map(|lane| lane.group.wide.iter().chain(&lane.key))
        .collect();
    // All of them are there while somebody waits; were one missing, it would count as one without a limit.
    let locked = rows::lock_with(session, &names, &names, now).await?;
    let locked = locked.into_iter().map(|row| (row.name.clone(), row));
    let mut board = Board::new(locked.collect(), planned, scene.turn, now);
    let there = still_in_line(session, &lines).await?;
    let mut decided = Vec::new();
    let mut gone: Vec<(LaneKey, ExecutionId)> = Vec::new();
    while decided.len() < max as usize
        && let Some(next) = board.next()
    {
        let place = scene.place(board.lane(next));
        // Whoever came to a line of the plan since then has to wait for the next look.
        let Some(id) = lines.get_mut(&place).and_then(VecDeque::pop_front) else {
            board.close_lane(next);
            continue;
        };
        if !there.contains(&id) {
            continue;
        }
        if heads.busy.contains(&id) {
            // Somebody is at it, to stop or pause it perhaps. Its turn comes with the next look.
            board.close_lane(next);
            continue;
        }
        gone.push((place, id));
        let before = heads.rows.remove(&id);
        match before.and_then(|before| admitted(before, now)) {
            Some(one) => {
                board.admit(next);
                decided.push(one);
            }
            None => board.forget(next),
        }
    }
    write(session, scene, board.close(), &decided, &gone, now, shards).await?;
    Ok(decided.iter().filter_map(Decision::dispatch).collect())
}

/// Of those whom the plan names, who has not been stopped or paused since.
async fn still_in_line(
    session: &Session,
    lines: &BTreeMap<LaneKey, VecDeque<ExecutionId>>,
) -> Outcome<BTreeSet<ExecutionId>> {
    let all = lines
        .iter()
        .flat_map(|(place, ids)| ids.iter().map(move |id| (place, *id)));
    let Some(columns) = line_columns(&sql::ADMISSION_LINE_KNOWN, all) else {
        return Ok(BTreeSet::new());
    };
    let params = columns.params();
    let rows = session.rows(&sql::ADMISSION_LINE_KNOWN, &params).await?;
    let id = |row: &tokio_postgres::Row| Ok(ExecutionId(row.try_get(2)?));
    rows.iter().map(id).collect()
}

fn line_columns<'a>(
    sql: &'static Sql,
    places: impl Iterator<Item = (&'a LaneKey, ExecutionId)>,
) -> Option<Columns<'a>> {
    let mut columns = Columns::new(sql.kinds());
    for ((group_id, key), id) in places {
        columns.count(group_id.unsigned_abs());
        columns.text(key.as_str());
        columns.uuid(id.0);
    }
    columns.non_empty()
}

async fn first_in_line(
    session: &Session,
    plan: &Plan,
) -> Outcome<BTreeMap<LaneKey, VecDeque<ExecutionId>>> {
    let mut columns = Columns::new(sql::ADMISSION_LINE_FIRST.kinds());
    for ((group_id, key), many) in plan {
        columns.count(group_id.unsigned_abs());
        columns.text(key.as_str());
        columns.count(*many);
    }
    let params = columns.params();
    let rows = session.rows(&sql::ADMISSION_LINE_FIRST, &params).await?;
    let mut lines: BTreeMap<LaneKey, VecDeque<ExecutionId>> = BTreeMap::new();
    for row in &rows {
        let mut reader = Reader::new(row);
        let place = (reader.get()?, reader.text()?);
        let id = ExecutionId(reader.get()?);
        lines.entry(place).or_default().push_back(id);
    }
    Ok(lines)
}

fn admitted(before: Subject, now: Timestamp) -> Option<Decision> {
    let change = lifecycle::admit(&before.head, &before.state, now)?;
    Some(Decision { before, change })
}

async fn write(
    session: &Session,
    scene: &Scene,
    outcome: BoardOutcome,
    decided: &[Decision],
    gone: &[(LaneKey, ExecutionId)],
    now: Timestamp,
    shards: u32,
) -> Outcome<()> {
    let mut by_id: Vec<&Decision> = decided.iter().collect();
    by_id.sort_unstable_by_key(|one| one.id());
    if !by_id.is_empty() {
        changes::write_locked(session, &by_id, shards).await?;
        changes::write_queued(session, decided).await?;
    }
    let holding = decided
        .iter()
        .map(|one| (one.id(), one.before.head.quotas.as_slice()));
    line::hold(session, &holding.collect::<Vec<_>>(), now).await?;
    let places = gone.iter().map(|(place, id)| (place, *id));
    if let Some(columns) = line_columns(&sql::ADMISSION_LINE_DELETE, places) {
        let params = columns.params();
        session.rows(&sql::ADMISSION_LINE_DELETE, &params).await?;
    }
    let turns: BTreeMap<LaneKey, u64> = outcome
        .lanes
        .iter()
        .map(|lane| (scene.place(lane), lane.turn))
        .collect();
    let mut left: BTreeMap<&LaneKey, (u64, Option<u64>)> = BTreeMap::new();
    for (place, _) in gone {
        let turn = turns.get(place).copied();
        left.entry(place).or_insert((0, turn)).0 += 1;
    }
    line::leave_lanes(session, &left).await?;
    rows::put(session, &outcome.quotas, now).await?;
    let turn = i64::try_from(outcome.turn).unwrap_or(i64::MAX);
    session.rows(&sql::ADMISSION_TURN_WRITE, &[&turn]).await?;
    Ok(())
}

/// Does anybody still wait, and when will a rate let the next one in?
async fn what_is_left(
    session: &Session,
    dispatches: Vec<Dispatch>,
    now: Timestamp,
) -> Outcome<Admitted> {
    let groups: Vec<Group> = groups(session).await?.into_keys().collect();
    let wide: BTreeSet<&QuotaName> = groups.iter().flat_map(|group| &*group.wide).collect();
    let quotas = rows::load(session, &wide).await?;
    let by_group = next_by_rate(&groups, &quotas, now);
    let next = session
        .rows(&sql::ADMISSION_LANES_NEXT, &[&Time(now)])
        .await?;
    let by_key = next
        .first()
        .map_or(Ok(None), |row| Reader::new(row).optional_time())?;
    Ok(Admitted {
        dispatches,
        waiting: !groups.is_empty(),
        look_again_at: by_group.into_iter().chain(by_key).min(),
    })
}
