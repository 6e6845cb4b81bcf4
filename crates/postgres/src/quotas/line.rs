//! Entering, standing in line, giving back: what a transaction does to the rows of quotas besides those of the
//! executions. The executions are locked first, then the quotas in the order of their names, then lanes and lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pawl_kernel::execution::{Head, PriorityClass};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Created, NewExecution};
use pawl_kernel::quota::{Book, Group, Lane, Movement, Place, QuotaClaim, QuotaName};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Decision;

use super::rows;
use crate::creates;
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Text};

pub(super) static STATEMENTS: &[&Sql] = &[
    &sql::QUOTA_HOLDERS_INSERT,
    &sql::QUOTA_HOLDERS_DELETE,
    &sql::ADMISSION_GROUPS_ADD,
    &sql::ADMISSION_GROUPS_FIND,
    &sql::ADMISSION_GROUPS_REMOVE,
    &sql::ADMISSION_LANES_JOIN,
    &sql::ADMISSION_LANES_LEAVE,
    &sql::ADMISSION_LANES_REMOVE,
    &sql::ADMISSION_LINE_INSERT,
    &sql::ADMISSION_LINE_DELETE,
];

/// The primary key of a lane; the key is empty where there is none.
pub(super) type LaneKey = (i64, String);

/// Creates executions that quotas concern. `None`: what was known of the quotas is old, and nothing was done. Each comes
/// back as it was written.
pub(crate) async fn create(
    session: &Session,
    news: &[&NewExecution],
    epoch: i64,
    shards: u32,
) -> Outcome<Option<Vec<(Created, NewExecution)>>> {
    session.ready(rows::STATEMENTS).await?;
    session.ready(STATEMENTS).await?;
    let more = [&sql::EXECUTIONS_BY_KEYS, &sql::EXECUTIONS_SET_QUOTAS];
    session.ready(&more).await?;
    session.ready(creates::BESIDE).await?;
    session.begin().await?;
    let mut existing = find_existing(session, news).await?;
    // Retries come alone.
    if let [new] = news
        && existing.is_empty()
        && let Some(before) = creates::already_retried(session, new).await?
    {
        // Its lock on the origin may have been waited for, while another process used the same key.
        existing = find_existing(session, news).await?;
        if existing.is_empty() {
            session.roll_back().await?;
            let answer = (Created::AlreadyRetried(before), NewExecution::clone(new));
            return Ok(Some(vec![answer]));
        }
    }
    let known = |new: &NewExecution| existing.get(new.execution.record.idempotency_key.as_ref()?);
    let mut fresh: Vec<NewExecution> = news
        .iter()
        .filter(|new| known(new).is_none())
        .map(|new| NewExecution::clone(new))
        .collect();
    let now = fresh.iter().map(|new| new.state.updated_at).max();
    let now = now.unwrap_or_default();
    let (mut book, places) = enter(session, &mut fresh, now).await?;
    let refs: Vec<&NewExecution> = fresh.iter().collect();
    let Some(created) = creates::create(session, &refs, epoch, false).await? else {
        session.roll_back().await?;
        return Ok(None);
    };
    let is_new = |new: &NewExecution| created.contains(&new.execution.head.id);
    let placed = fresh.iter().zip(places);
    let (placed, late): (Vec<_>, Vec<_>) = placed.partition(|(new, _)| is_new(new));
    for (new, place) in &late {
        // Somebody was faster with the same idempotency key.
        take_back(&mut book, &new.execution.head.quotas, *place);
    }
    let late: Vec<&NewExecution> = late.into_iter().map(|(new, _)| new).collect();
    existing.extend(find_existing(session, &late).await?);
    let answers = answers(news, &existing, &placed)?;
    settle_in(session, &placed, &book, now, shards).await?;
    rows::put(session, &book.close(), now).await?;
    session.commit().await?;
    Ok(Some(answers))
}

type Existing = HashMap<String, ExecutionId>;

async fn find_existing(session: &Session, news: &[&NewExecution]) -> Outcome<Existing> {
    let keys = news
        .iter()
        .filter_map(|new| new.execution.record.idempotency_key.as_deref());
    let keys: Vec<Text<'_>> = keys.map(Text::new).collect();
    if keys.is_empty() {
        return Ok(Existing::new());
    }
    let rows = session.rows(&sql::EXECUTIONS_BY_KEYS, &[&keys]).await?;
    let read = |row| {
        let mut reader = Reader::new(row);
        let id = ExecutionId(reader.get()?);
        Ok((reader.text()?, id))
    };
    rows.iter().map(read).collect()
}

async fn enter(
    session: &Session,
    fresh: &mut [NewExecution],
    now: Timestamp,
) -> Outcome<(Book, Vec<Place>)> {
    let locked = {
        let claims = || fresh.iter().flat_map(|new| &new.execution.head.quotas);
        let names = rows::names_of(claims());
        let needed = rows::names_of(claims().filter(|claim| claim.settings.is_some()));
        rows::lock_with(session, &names, &needed, now).await?
    };
    let mut book = Book::open(locked, now);
    let places = fresh.iter_mut().map(|new| book.enter(new)).collect();
    Ok((book, places))
}

fn take_back(book: &mut Book, claims: &[QuotaClaim], place: Place) {
    match place {
        Place::Holds => claims.iter().for_each(|claim| book.release(&claim.name)),
        Place::InLine => book.leave(claims),
        Place::Free | Place::Later => {}
    }
}

/// Everything besides the two rows of each execution.
async fn settle_in(
    session: &Session,
    placed: &[(&NewExecution, Place)],
    book: &Book,
    now: Timestamp,
    shards: u32,
) -> Outcome<()> {
    let mut claims = Columns::new(sql::EXECUTIONS_SET_QUOTAS.kinds());
    let mut holding = Vec::new();
    let mut waiting = Vec::new();
    for (new, place) in placed {
        let id = new.execution.head.id;
        claims.uuid(id.0);
        claims.owned_text(QuotaClaim::to_column(&new.execution.head.quotas));
        match place {
            Place::Holds => holding.push((id, new.execution.head.quotas.as_slice())),
            Place::InLine => waiting.push(&new.execution.head),
            Place::Free | Place::Later => {}
        }
    }
    if let Some(claims) = claims.non_empty() {
        let params = claims.params();
        session.rows(&sql::EXECUTIONS_SET_QUOTAS, &params).await?;
    }
    let news: Vec<&NewExecution> = placed.iter().map(|(new, _)| *new).collect();
    creates::put_beside(session, &news, shards).await?;
    hold(session, &holding, now).await?;
    put_in_line(session, &waiting, book, now).await
}

/// Before anything is committed: what cannot be answered must not happen.
fn answers(
    news: &[&NewExecution],
    existing: &Existing,
    placed: &[(&NewExecution, Place)],
) -> Outcome<Vec<(Created, NewExecution)>> {
    let answer = |new: &&NewExecution| {
        let found = placed
            .iter()
            .find(|(written, _)| written.execution.head.id == new.execution.head.id);
        let Some((written, place)) = found else {
            let key = new.execution.record.idempotency_key.as_ref();
            if let Some(id) = key.and_then(|key| existing.get(key)) {
                return Ok((Created::Existing(*id), NewExecution::clone(new)));
            }
            // Whoever was faster is gone again.
            return Err(Fault::Busy(
                "the idempotency key was just freed; try again".into(),
            ));
        };
        let created = match place {
            Place::Free | Place::Later => Created::New,
            Place::Holds => Created::Admitted,
            Place::InLine => Created::InLine,
        };
        Ok((created, NewExecution::clone(written)))
    };
    news.iter().map(answer).collect()
}

/// What changes of executions, whose rows are locked, do to their quotas.
pub(crate) async fn follow(session: &Session, decided: &[Decision]) -> Outcome<()> {
    let moved: Vec<(&Decision, Movement)> = decided
        .iter()
        .map(|one| (one, one.movement()))
        .filter(|(_, movement)| *movement != Movement::None)
        .collect();
    let now = moved.iter().map(|(one, _)| one.change.state.updated_at);
    let Some(now) = now.max() else { return Ok(()) };
    session.ready(rows::STATEMENTS).await?;
    session.ready(STATEMENTS).await?;
    let locked = {
        let claims = |(one, _): &'_ (&'_ Decision, Movement)| one.before.head.quotas.clone();
        let all: Vec<QuotaClaim> = moved.iter().flat_map(claims).collect();
        let coming = moved
            .iter()
            .filter(|(_, movement)| *movement == Movement::LineUp);
        let coming: Vec<QuotaClaim> = coming.flat_map(claims).collect();
        // Whoever lines up may be the first again: a row that is not there cannot be locked.
        let needed = rows::names_of(coming.iter());
        rows::lock_with(session, &rows::names_of(all.iter()), &needed, now).await?
    };
    let mut book = Book::open(locked, now);
    let of = |wanted: Movement| -> Vec<&Head> {
        let wanted = moved.iter().filter(|(_, movement)| *movement == wanted);
        wanted.map(|(one, _)| &one.before.head).collect()
    };
    release(session, &of(Movement::Release), &mut book).await?;
    let leaving = of(Movement::Leave);
    take_out_of_line(session, &leaving).await?;
    for execution in leaving {
        book.leave(&execution.quotas);
    }
    let coming = of(Movement::LineUp);
    for execution in &coming {
        book.line_up(&execution.quotas);
    }
    put_in_line(session, &coming, &book, now).await?;
    rows::put(session, &book.close(), now).await
}

pub(super) async fn hold(
    session: &Session,
    holding: &[(ExecutionId, &[QuotaClaim])],
    now: Timestamp,
) -> Outcome<()> {
    let mut columns = Columns::new(sql::QUOTA_HOLDERS_INSERT.kinds());
    for (id, claims) in holding {
        for claim in *claims {
            columns.text(claim.name.as_str());
            columns.uuid(id.0);
            columns.time(now);
        }
    }
    if let Some(columns) = columns.non_empty() {
        let params = columns.params();
        session.rows(&sql::QUOTA_HOLDERS_INSERT, &params).await?;
    }
    Ok(())
}

/// The counters follow the rows: what is not there is not given back twice.
async fn release(session: &Session, ended: &[&Head], book: &mut Book) -> Outcome<()> {
    let mut columns = Columns::new(sql::QUOTA_HOLDERS_DELETE.kinds());
    for execution in ended {
        for claim in &execution.quotas {
            columns.text(claim.name.as_str());
            columns.uuid(execution.id.0);
        }
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(());
    };
    let params = columns.params();
    let rows = session.rows(&sql::QUOTA_HOLDERS_DELETE, &params).await?;
    for row in &rows {
        book.release(&rows::name(&mut Reader::new(row))?);
    }
    Ok(())
}

pub(super) async fn put_in_line(
    session: &Session,
    executions: &[&Head],
    book: &Book,
    now: Timestamp,
) -> Outcome<()> {
    if executions.is_empty() {
        return Ok(());
    }
    add_groups(session, executions).await?;
    let places = find_places(session, executions).await?;
    let added = rows_of_line(session, &sql::ADMISSION_LINE_INSERT, executions, &places).await?;
    let mut joined: BTreeMap<&LaneKey, u64> = BTreeMap::new();
    for execution in executions.iter().filter(|one| added.contains(&one.id)) {
        if let Some(place) = places.get(&execution.id) {
            *joined.entry(place).or_default() += 1;
        }
    }
    let mut columns = Columns::new(sql::ADMISSION_LANES_JOIN.kinds());
    for (place, count) in joined {
        let key = place.1.parse::<QuotaName>().ok();
        let open_at = match key.as_ref().and_then(|key| book.row(key)) {
            Some(quota) => quota.opens_at(now),
            None => Some(Timestamp::default()),
        };
        columns.count(place.0.unsigned_abs());
        columns.text(place.1.as_str());
        columns.count(count);
        columns.time(open_at);
    }
    if let Some(columns) = columns.non_empty() {
        let params = columns.params();
        session.rows(&sql::ADMISSION_LANES_JOIN, &params).await?;
    }
    Ok(())
}

pub(super) async fn take_out_of_line(session: &Session, executions: &[&Head]) -> Outcome<()> {
    if executions.is_empty() {
        return Ok(());
    }
    let places = find_places(session, executions).await?;
    let gone = rows_of_line(session, &sql::ADMISSION_LINE_DELETE, executions, &places).await?;
    let mut left: BTreeMap<&LaneKey, (u64, Option<u64>)> = BTreeMap::new();
    for execution in executions.iter().filter(|one| gone.contains(&one.id)) {
        if let Some(place) = places.get(&execution.id) {
            left.entry(place).or_default().0 += 1;
        }
    }
    leave_lanes(session, &left).await
}

/// So many have left these lanes, and perhaps they were served. Lanes and groups with nobody in them go.
pub(super) async fn leave_lanes(
    session: &Session,
    left: &BTreeMap<&LaneKey, (u64, Option<u64>)>,
) -> Outcome<()> {
    if left.is_empty() {
        return Ok(());
    }
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

async fn add_groups(session: &Session, executions: &[&Head]) -> Outcome<()> {
    let columns = group_columns(&sql::ADMISSION_GROUPS_ADD, executions);
    session
        .rows(&sql::ADMISSION_GROUPS_ADD, &columns.params())
        .await?;
    Ok(())
}

fn group_columns(sql: &'static Sql, executions: &[&Head]) -> Columns<'static> {
    let mut columns = Columns::new(sql.kinds());
    let group = |execution: &&Head| Lane::of(execution.priority, &execution.quotas).0;
    let groups: BTreeSet<Group> = executions.iter().map(group).collect();
    for group in groups {
        columns.code(group.priority.code());
        columns.owned_text(Some(group.column()));
    }
    columns
}

/// The lanes that executions belong in, of those whose group is there.
pub(super) async fn find_places(
    session: &Session,
    executions: &[&Head],
) -> Outcome<HashMap<ExecutionId, LaneKey>> {
    session.ready(&[&sql::ADMISSION_GROUPS_FIND]).await?;
    let columns = group_columns(&sql::ADMISSION_GROUPS_FIND, executions);
    let params = columns.params();
    let rows = session.rows(&sql::ADMISSION_GROUPS_FIND, &params).await?;
    let groups: BTreeMap<Group, i64> = rows.iter().map(group).collect::<Outcome<_>>()?;
    let place = |execution: &&Head| {
        let (group, key) = Lane::of(execution.priority, &execution.quotas);
        let key = key.map_or_else(String::new, |key| key.to_string());
        Some((execution.id, (*groups.get(&group)?, key)))
    };
    Ok(executions.iter().filter_map(place).collect())
}

pub(super) fn group(row: &tokio_postgres::Row) -> Outcome<(Group, i64)> {
    let mut reader = Reader::new(row);
    let id = reader.get()?;
    let priority = reader.code(PriorityClass::from_code)?;
    let wide = Group::names_of_column(&reader.text()?).map_err(Fault::Corrupt)?;
    Ok((Group { priority, wide }, id))
}

/// The executions whose rows of the line a statement found, added or deleted.
pub(super) async fn rows_of_line(
    session: &Session,
    sql: &'static Sql,
    executions: &[&Head],
    places: &HashMap<ExecutionId, LaneKey>,
) -> Outcome<BTreeSet<ExecutionId>> {
    let mut columns = Columns::new(sql.kinds());
    for execution in executions {
        if let Some((group_id, key)) = places.get(&execution.id) {
            columns.count(group_id.unsigned_abs());
            columns.text(key.as_str());
            columns.uuid(execution.id.0);
        }
    }
    let Some(columns) = columns.non_empty() else {
        return Ok(BTreeSet::new());
    };
    let rows = session.rows(sql, &columns.params()).await?;
    let id = |row: &tokio_postgres::Row| Ok(ExecutionId(row.try_get(2)?));
    rows.iter().map(id).collect()
}
