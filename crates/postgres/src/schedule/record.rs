//! Recording what became of attempts.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join;
use pawl_kernel::ports::schedule::RecordRequest;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::schedule::{Limits, PastAttempt, Record, Recorded, ScheduledAction, record};
use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use super::rows::{Place, Stored, WORK, Writes, place, texts};
use crate::error::Outcome;
use crate::session::Session;
use crate::sql;
use crate::timers::owned;
use crate::value::Text;

pub(super) async fn record_all(
    session: &Session,
    sync: Uuid,
    requests: &[RecordRequest],
    limits: &Limits,
    now: Timestamp,
    shards: u32,
) -> Outcome<Vec<Option<Record>>> {
    session.ready(WORK).await?;
    session.ready(&[&sql::ACTIONS_FREE]).await?;
    let locks: Vec<Uuid> = requests.iter().map(|request| request.lock).collect();
    let owned = owned(session, &locks).await?;
    let is_owned =
        |request: &RecordRequest| owned.get(&request.timer.shard_id) == Some(&request.lock);
    let ids = requests.iter().filter(|request| is_owned(request));
    let mut desk = Desk {
        rows: find(session, ids).await?,
        limits,
        now,
        places: Vec::new(),
        past: Vec::new(),
    };
    let records: Vec<Option<Record>> = requests
        .iter()
        .map(|request| is_owned(request).then(|| desk.record(request)).flatten())
        .collect();
    place(session, &desk.places, sync, now).await?;
    desk.writes(&records).commit(session, now, shards).await?;
    Ok(records)
}

/// What can be had of an action now. Nobody waits for a lock here: users who write would wait for those that we hold.
enum Got {
    Row(Box<ScheduledAction>),
    Busy,
    Unreadable,
}

/// The actions that the requests are about.
async fn find(
    session: &Session,
    requests: impl Iterator<Item = &RecordRequest>,
) -> Outcome<HashMap<String, Got>> {
    let ids: BTreeSet<&str> = requests
        .map(|request| request.timer.action_id.as_str())
        .collect();
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
        let id = stored.id.clone();
        let got = match free.contains(&id) {
            true => stored
                .readable()
                .map_or(Got::Unreadable, |row| Got::Row(Box::new(row))),
            false => Got::Busy,
        };
        found.insert(id, got);
    }
    Ok(found)
}

struct Desk<'a> {
    /// The actions as they are after what was recorded so far.
    rows: HashMap<String, Got>,
    limits: &'a Limits,
    now: Timestamp,
    places: Vec<Place>,
    past: Vec<(&'a str, u64, PastAttempt)>,
}

impl<'a> Desk<'a> {
    /// `None`: the action cannot be read.
    fn record(&mut self, request: &'a RecordRequest) -> Option<Record> {
        let id = request.timer.action_id.as_str();
        let before = match self.rows.get(id) {
            None => None,
            Some(Got::Row(row)) => Some(&**row),
            Some(Got::Busy) => return Some(Record::Busy),
            Some(Got::Unreadable) => return None,
        };
        let recorded = record(
            before,
            &request.ticket,
            request.outcome.clone(),
            request.fresh,
            self.limits,
            self.now,
        );
        let known = match (&recorded, before) {
            (Record::Written(written), Some(before)) => {
                self.places.push(place_of(request, before, written));
                let row = written.row.clone();
                self.rows.insert(id.to_owned(), Got::Row(Box::new(row)));
                written.past.clone()
            }
            (Record::Late(_), Some(_)) => request.past(self.now),
            (_, None) | (Record::Busy, _) => None,
        };
        let past = known.map(|past| (id, request.ticket.generation, past));
        self.past.extend(past);
        Some(recorded)
    }

    fn writes<'b>(&'b self, records: &'b [Option<Record>]) -> Writes<'b> {
        let written = || {
            records.iter().filter_map(|record| match record {
                Some(Record::Written(written)) => Some(&**written),
                _ => None,
            })
        };
        Writes {
            rows: written().map(|written| &written.row).collect(),
            past: self
                .past
                .iter()
                .map(|(id, generation, past)| (*id, *generation, past))
                .collect(),
            queued: written()
                .filter(|written| written.requeue)
                .map(|written| &written.row)
                .collect(),
        }
    }
}

/// What becomes of the attempt's own row in the queue. It is where the attempt has put it: no write by a user moves an
/// action whose attempt is under way.
fn place_of(request: &RecordRequest, before: &ScheduledAction, written: &Recorded) -> Place {
    let own = DueTimer {
        at: before.status.scheduled_at.unwrap_or(request.timer.at),
        guid: request.ticket.guid,
        ..request.timer.clone()
    };
    (own, written.row.due_at().filter(|_| !written.requeue))
}
