//! Beginning what is due. One action that is locked or cannot be read stops nobody.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::join;
use pawl_kernel::ports::store::{DueTimer, ShardPass};
use pawl_kernel::schedule::{Begin, Limits, PastAttempt, Previous, Run, ScheduledAction, begin};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use super::rows::{Place, Stored, WORK, Writes, place, texts};
use crate::error::Outcome;
use crate::session::Session;
use crate::sql;
use crate::timers::owned;
use crate::value::Text;

/// How long an action is put off that somebody has locked, and one that cannot be read.
const WHILE_BUSY: Duration = Duration::from_millis(500);
const WHILE_UNREADABLE: Duration = Duration::from_secs(60);

pub(super) async fn begin_all(
    session: &Session,
    pass: &ShardPass,
    due: Vec<DueTimer>,
    limits: &Limits,
    now: Timestamp,
) -> Outcome<Vec<(DueTimer, Run)>> {
    session.ready(WORK).await?;
    session.ready(&[&sql::ACTIONS_FREE]).await?;
    let owned = owned(session, &pass.locks).await?;
    let due = DueTimer::actions_once(due, |shard| owned.contains_key(&shard), now);
    let found = find(session, &due).await?;
    let running = running(session, &found).await?;
    let mut plan = Plan::default();
    for timer in due {
        match found.get(&timer.action_id) {
            Some((guid, got)) if *guid == timer.guid => {
                plan.known(timer, got, &running, limits, now);
            }
            // Of an action that was written anew, or is gone.
            _ => plan.places.push((timer, None)),
        }
    }
    plan.write(session, pass.sync, now).await
}

/// What can be had of an action now.
enum Got {
    Row(Box<ScheduledAction>),
    Busy,
    Unreadable,
}

async fn find(session: &Session, due: &[DueTimer]) -> Outcome<HashMap<String, (Uuid, Got)>> {
    let ids: HashSet<&str> = due.iter().map(|timer| timer.action_id.as_str()).collect();
    let ids: Vec<Text<'_>> = ids.into_iter().map(Text::new).collect();
    let (free, loaded) = join(
        session.rows(&sql::ACTIONS_FREE, &[&ids]),
        session.rows(&sql::ACTIONS_LOAD, &[&ids]),
    )
    .await;
    let free = texts(&free?)?;
    let mut found = HashMap::new();
    for row in &loaded? {
        let stored = Stored::new(row)?;
        let (id, guid) = (stored.id.clone(), stored.guid);
        let got = match free.contains(&id) {
            true => stored
                .readable()
                .map_or(Got::Unreadable, |row| Got::Row(Box::new(row))),
            false => Got::Busy,
        };
        found.insert(id, (guid, got));
    }
    Ok(found)
}

/// Those keys of firings before whose executions have not ended.
async fn running(
    session: &Session,
    found: &HashMap<String, (Uuid, Got)>,
) -> Outcome<HashSet<String>> {
    let keys: Vec<String> = found
        .values()
        .flat_map(|(_, got)| match got {
            Got::Row(row) => row.previous_keys(),
            Got::Busy | Got::Unreadable => Vec::new(),
        })
        .collect();
    if keys.is_empty() {
        return Ok(HashSet::new());
    }
    let keys: Vec<Text<'_>> = keys.iter().map(|key| Text::new(key)).collect();
    session.ready(&[&sql::EXECUTIONS_RUNNING_BY_KEYS]).await?;
    let rows = session
        .rows(&sql::EXECUTIONS_RUNNING_BY_KEYS, &[&keys])
        .await?;
    texts(&rows)
}

/// What is to be written, and answered once it is.
#[derive(Default)]
struct Plan {
    places: Vec<Place>,
    changed: Vec<Changed>,
}

struct Changed {
    timer: DueTimer,
    row: ScheduledAction,
    interrupted: Option<PastAttempt>,
    run: Option<Run>,
}

impl Plan {
    fn known(
        &mut self,
        timer: DueTimer,
        got: &Got,
        running: &HashSet<String>,
        limits: &Limits,
        now: Timestamp,
    ) {
        match got {
            Got::Row(row) => self.begin(timer, row, running, limits, now),
            Got::Busy => self.places.push((timer, Some(now.plus(WHILE_BUSY)))),
            Got::Unreadable => {
                let later = now.plus(WHILE_UNREADABLE);
                self.places.push((timer, Some(later)));
            }
        }
    }

    fn begin(
        &mut self,
        timer: DueTimer,
        row: &ScheduledAction,
        running: &HashSet<String>,
        limits: &Limits,
        now: Timestamp,
    ) {
        let previous = match row.previous_keys().iter().any(|key| running.contains(key)) {
            true => Previous::Running,
            false => Previous::Over,
        };
        match begin(Some(row), timer.guid, previous, limits, now) {
            Begin::Run(run) => self.change(Changed {
                timer,
                row: run.row.clone(),
                interrupted: run.interrupted.clone(),
                run: Some(*run),
            }),
            Begin::Moved(moved) => self.change(Changed {
                timer,
                row: moved.row,
                interrupted: moved.interrupted,
                run: None,
            }),
            Begin::NotDue { at } => self.places.push((timer, Some(at))),
            Begin::Stale => self.places.push((timer, None)),
        }
    }

    fn change(&mut self, changed: Changed) {
        self.places
            .push((changed.timer.clone(), changed.row.due_at()));
        self.changed.push(changed);
    }

    /// Nothing is written for a row of the queue that is not there.
    async fn write(
        mut self,
        session: &Session,
        sync: Uuid,
        now: Timestamp,
    ) -> Outcome<Vec<(DueTimer, Run)>> {
        let there = place(session, &self.places, sync, now).await?;
        self.changed.retain(|changed| {
            let timer = &changed.timer;
            there.contains(&(timer.action_id.clone(), timer.guid))
        });
        let mut writes = Writes::default();
        for changed in &self.changed {
            let row = &changed.row;
            writes.rows.push(row);
            if let Some(past) = &changed.interrupted {
                writes.past.push((&row.id, row.status.generation, past));
            }
        }
        writes.commit(session, now, 1).await?;
        let changed = self.changed.into_iter();
        Ok(changed
            .filter_map(|changed| Some((changed.timer, changed.run?)))
            .collect())
    }
}
