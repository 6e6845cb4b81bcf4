//! What the owner of a shard does: begin what is due, record what came of it.

use std::time::Duration;

use pawl_kernel::ports::schedule::RecordRequest;
use pawl_kernel::ports::store::{DueTimer, ShardPass};
use pawl_kernel::schedule::{
    Begin, Limits, PastAttempt, Previous, Record, Recorded, Run, ScheduledAction, begin, record,
};
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::rows;
use crate::fault::JobResult;
use crate::{changes, sql, timers};

/// How long an action is put off that cannot be read.
const WHILE_UNREADABLE: Duration = Duration::from_secs(60);

pub(super) fn begin_all(
    connection: &Connection,
    pass: &ShardPass,
    due: &[DueTimer],
    limits: &Limits,
    now: Timestamp,
) -> JobResult<Vec<(DueTimer, Run)>> {
    let owned = timers::owned(connection, &pass.locks)?;
    let queue = Queue {
        connection,
        sync: pass.sync,
        now,
    };
    let mut begun = Vec::new();
    for timer in DueTimer::actions_once(due.to_vec(), |shard| owned.contains_key(&shard), now) {
        let stored = rows::stored(connection, &timer.action_id)?;
        let Some(stored) = stored.filter(|row| row.guid == timer.guid) else {
            // Of an action that was written anew, or is gone.
            queue.put(&timer, None)?;
            continue;
        };
        let Some(row) = stored.readable() else {
            queue.put(&timer, Some(now.plus(WHILE_UNREADABLE)))?;
            continue;
        };
        let run = begin_one(&queue, &timer, &row, limits)?;
        begun.extend(run.map(|run| (timer, run)));
    }
    Ok(begun)
}

fn begin_one(
    queue: &Queue<'_>,
    timer: &DueTimer,
    row: &ScheduledAction,
    limits: &Limits,
) -> JobResult<Option<Run>> {
    let previous = previous(queue.connection, row)?;
    match begin(Some(row), timer.guid, previous, limits, queue.now) {
        Begin::Run(run) => {
            let begun = queue.moved(timer, &run.row, run.interrupted.as_ref())?;
            Ok(begun.then_some(*run))
        }
        Begin::Moved(moved) => {
            queue.moved(timer, &moved.row, moved.interrupted.as_ref())?;
            Ok(None)
        }
        Begin::NotDue { at } => queue.put(timer, Some(at)).map(|_| None),
        Begin::Stale => queue.put(timer, None).map(|_| None),
    }
}

fn previous(connection: &Connection, row: &ScheduledAction) -> JobResult<Previous> {
    for key in row.previous_keys() {
        let mut statement = connection.prepare_cached(sql::EXECUTION_RUNNING_BY_KEY)?;
        if statement.query_row([key], |row| row.get(0))? {
            return Ok(Previous::Running);
        }
    }
    Ok(Previous::Over)
}

/// The processing queue, in the hands of the owner of some shards.
struct Queue<'a> {
    connection: &'a Connection,
    sync: Uuid,
    now: Timestamp,
}

impl Queue<'_> {
    /// Puts a row to another time, or takes it away. False: it is not there.
    fn put(&self, timer: &DueTimer, to: Option<Timestamp>) -> JobResult<bool> {
        let (shard, at) = (timer.shard_id, timer.at.as_micros());
        let (id, guid) = (&timer.action_id, timer.guid.as_bytes());
        let changed = match to {
            None => self
                .connection
                .prepare_cached(sql::PROCESSING_DELETE)?
                .execute(params![shard, at, id, guid])?,
            Some(to) => self
                .connection
                .prepare_cached(sql::PROCESSING_MOVE)?
                .execute(params![
                    shard,
                    at,
                    id,
                    guid,
                    to.as_micros(),
                    self.sync.as_bytes(),
                    self.now.as_micros()
                ])?,
        };
        Ok(changed > 0)
    }

    /// Nothing is written for a row of the queue that is not there.
    fn moved(
        &self,
        timer: &DueTimer,
        row: &ScheduledAction,
        interrupted: Option<&PastAttempt>,
    ) -> JobResult<bool> {
        let found = self.put(timer, row.due_at())?;
        if found {
            rows::update(self.connection, row)?;
            rows::remember(self.connection, &row.id, row.status.generation, interrupted)?;
        }
        Ok(found)
    }
}

/// Where attempts are recorded.
pub(super) struct Desk {
    pub(super) sync: Uuid,
    pub(super) limits: Limits,
    pub(super) now: Timestamp,
    /// What is queued anew is spread over so many.
    pub(super) shards: u32,
}

impl Desk {
    pub(super) fn record_all(
        &self,
        connection: &Connection,
        requests: &[RecordRequest],
    ) -> JobResult<Vec<Option<Record>>> {
        let locks: Vec<Uuid> = requests.iter().map(|request| request.lock).collect();
        let owned = timers::owned(connection, &locks)?;
        let record = |request: &RecordRequest| match owned.get(&request.timer.shard_id) {
            Some(lock) if *lock == request.lock => self.record_one(connection, request),
            _ => Ok(None),
        };
        requests.iter().map(record).collect()
    }

    fn record_one(
        &self,
        connection: &Connection,
        request: &RecordRequest,
    ) -> JobResult<Option<Record>> {
        let id = &request.timer.action_id;
        let before = match rows::stored(connection, id)? {
            None => None,
            Some(stored) => match stored.readable() {
                Some(row) => Some(row),
                None => return Ok(None),
            },
        };
        let recorded = record(
            before.as_ref(),
            &request.ticket,
            request.outcome.clone(),
            request.fresh,
            &self.limits,
            self.now,
        );
        match (&recorded, &before) {
            (Record::Written(recorded), Some(before)) => {
                self.write(connection, request, before, recorded)?;
            }
            (Record::Late(late), Some(_)) => {
                let past = request.past(self.now);
                rows::remember(connection, id, late.ticket.generation, past.as_ref())?;
            }
            (_, None) | (Record::Busy, _) => {}
        }
        Ok(Some(recorded))
    }

    fn write(
        &self,
        connection: &Connection,
        request: &RecordRequest,
        before: &ScheduledAction,
        recorded: &Recorded,
    ) -> JobResult<()> {
        let queue = Queue {
            connection,
            sync: self.sync,
            now: self.now,
        };
        let row = &recorded.row;
        // No write by a user moves an action whose attempt is under way.
        let own = DueTimer {
            at: before.status.scheduled_at.unwrap_or(request.timer.at),
            guid: request.ticket.guid,
            ..request.timer.clone()
        };
        queue.put(&own, row.due_at().filter(|_| !recorded.requeue))?;
        if let Some(timer) = DueTimer::of_action(row, self.shards).filter(|_| recorded.requeue) {
            changes::enqueue(connection, &timer, self.now)?;
        }
        rows::update(connection, row)?;
        let generation = row.status.generation;
        rows::remember(connection, &row.id, generation, recorded.past.as_ref())
    }
}
