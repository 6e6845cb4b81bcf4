//! Makes the attempts of scheduled actions: only such as are written down, only so many at once, and each is over in time
//! for its end to be written down before any worker could take it for interrupted.
//!
//! How: the store puts an attempt's row off by at least `patience` from the moment it began. An attempt has four fifths of
//! that, or the time its action asks for, counted from the same moment; the rest is for recording. One that would have to begin too late is given back.

mod attempt;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pawl_kernel::id;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::schedule::RecordRequest;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::schedule::{ActionAttempt, AttemptOutcome, Run, Ticket};
use pawl_kernel::time::Timestamp;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::control::Control;
use crate::runtime::Runtime;

/// Where attempts take no longer than this, some may be begun before there is a slot: they will not wait long.
const QUICK: Duration = Duration::from_millis(20);
const AHEAD: usize = 8;

/// An attempt of an action that only pretends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MockRun {
    pub action_id: String,
    pub key: String,
    /// Its place among those of its firing, from 1.
    pub attempt: u32,
    pub planned_at: Timestamp,
    pub at: Timestamp,
}

/// Told of each attempt of an action that only pretends, when it is made. For tests and benchmarks.
#[derive(Clone)]
pub struct MockHook(pub Arc<dyn Fn(MockRun) + Send + Sync>);

impl fmt::Debug for MockHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MockHook")
    }
}

/// An attempt that is written down.
#[derive(Clone)]
struct StartedAttempt {
    timer: DueTimer,
    /// The lock of its shard.
    lock: Uuid,
    run: Run,
    /// By our clock, before the store wrote it down.
    at: Timestamp,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) timer: DueTimer,
    lock: Uuid,
    ticket: Ticket,
    attempt: ActionAttempt,
    pub(crate) outcome: AttemptOutcome,
    /// Where its row stands in the queue until the end is recorded.
    row_at: Timestamp,
    took: Duration,
}

impl EndedAttempt {
    fn of(begun: StartedAttempt, outcome: AttemptOutcome, took: Duration) -> Self {
        let row_at = begun.run.row.due_at().unwrap_or(begun.timer.at);
        Self {
            timer: begun.timer,
            lock: begun.lock,
            ticket: begun.run.ticket,
            attempt: begun.run.attempt,
            outcome,
            row_at,
            took,
        }
    }

    /// Its row in the queue.
    pub(crate) fn row(&self) -> DueTimer {
        DueTimer {
            at: self.row_at,
            ..self.timer.clone()
        }
    }
}

pub(crate) struct Runner {
    control: Control,
    /// Begun, and there was no slot yet.
    waiting: VecDeque<StartedAttempt>,
    tasks: JoinSet<EndedAttempt>,
    /// Attempts of ours that are not recorded, and their shards.
    open: HashMap<(String, Uuid), u32>,
    over: VecDeque<EndedAttempt>,
    /// Over, and not to be recorded before then: another transaction has the action locked.
    postponed: VecDeque<(Timestamp, EndedAttempt)>,
    /// How long attempts take, roughly.
    typical: Duration,
}

impl Runner {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            control,
            waiting: VecDeque::new(),
            tasks: JoinSet::new(),
            open: HashMap::new(),
            over: VecDeque::new(),
            postponed: VecDeque::new(),
            typical: QUICK,
        }
    }

    fn runtime(&self) -> &Runtime {
        self.control.runtime()
    }

    fn slots(&self) -> usize {
        self.runtime().options.action_slots.max(1)
    }

    /// How many more may be begun.
    pub(crate) fn room(&self) -> usize {
        let most = match self.typical < QUICK {
            true => self.slots() * AHEAD,
            false => self.slots(),
        };
        most.saturating_sub(self.open.len())
    }

    /// Is an attempt of this row ours and not yet recorded? Then the timers skip it: it would count as interrupted.
    pub(crate) fn has(&self, row: &DueTimer) -> bool {
        // Nothing is open most of the time.
        !self.open.is_empty() && self.open.contains_key(&key(row))
    }

    /// How many attempts in this shard are ours and not yet recorded.
    pub(crate) fn open_in(&self, shard: u32) -> usize {
        self.open.values().filter(|open| **open == shard).count()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Is something over that was not made, and waits to be recorded?
    pub(crate) fn has_over(&self) -> bool {
        !self.over.is_empty()
    }

    /// Attempts that the store has written down since `at`, under these locks of shards. Their ends are recorded under the
    /// same: the next holder of a shard, which may be the same worker, finds them interrupted.
    pub(crate) fn begin(
        &mut self,
        runs: Vec<(DueTimer, Run)>,
        locks: &BTreeMap<u32, Uuid>,
        at: Timestamp,
    ) {
        for (timer, run) in runs {
            self.open.insert(key(&timer), timer.shard_id);
            // Begun under a lock of these, so it is there; under none nothing would be recorded.
            let lock = locks.get(&timer.shard_id).copied().unwrap_or_default();
            self.waiting.push_back(StartedAttempt {
                timer,
                lock,
                run,
                at,
            });
        }
    }

    /// Starts what has a slot. `held_until`: another worker may have the locks from then on, and nothing starts.
    pub(crate) fn start(&mut self, held_until: Timestamp) {
        let limits = self.runtime().options.schedule_limits();
        while self.tasks.len() < self.slots() {
            let Some(begun) = self.waiting.pop_front() else {
                return;
            };
            // Attempts that are over at once take time too, while the locks grow old.
            let now = self.runtime().now();
            let too_late = now.since(begun.at) > limits.patience / 2;
            // The clock was set back since: by what it says now this would be early.
            let early = now < begun.at
                && now < begun.run.attempt.planned_at
                && !planted::has(Bug::ActionEarly);
            if too_late || early || held_until <= now {
                self.over.push_back(EndedAttempt::of(
                    begun,
                    AttemptOutcome::NotMade,
                    Duration::ZERO,
                ));
                continue;
            }
            if planted::has(Bug::ActionRecordedFirst) {
                self.over.push_back(EndedAttempt::of(
                    begun.clone(),
                    AttemptOutcome::Success,
                    Duration::ZERO,
                ));
            }
            let action = &begun.run.row.spec.action;
            let latest = begun.at.plus(limits.patience_for(action) / 5 * 4);
            let deadline = now.plus(limits.time_for(action)).min(latest);
            let mut attempt = Box::pin(make(self.control.clone(), begun, deadline));
            // One that is over at once needs no slot.
            match attempt.as_mut().now_or_never() {
                Some(done) => self.note(done),
                None => drop(self.tasks.spawn(attempt)),
            }
        }
    }

    /// Whatever has not started is not made.
    pub(crate) fn give_back(&mut self) {
        let back = self.waiting.drain(..);
        self.over.extend(
            back.map(|begun| EndedAttempt::of(begun, AttemptOutcome::NotMade, Duration::ZERO)),
        );
    }

    /// Waits until an attempt is over; for ever if there is none.
    pub(crate) async fn wait(&mut self) {
        match self.tasks.join_next().await {
            Some(done) => self.joined(done),
            None => std::future::pending().await,
        }
    }

    /// Attempts that are over and not recorded, at most so many. Those that cannot be recorded come [back](Self::keep).
    pub(crate) fn take_over(&mut self, most: usize) -> Vec<EndedAttempt> {
        while let Some(done) = self.tasks.try_join_next() {
            self.joined(done);
        }
        let count = self.over.len().min(most);
        self.over.drain(..count).collect()
    }

    /// They are to be recorded later.
    pub(crate) fn keep(&mut self, done: Vec<EndedAttempt>) {
        for done in done.into_iter().rev() {
            self.over.push_front(done);
        }
    }

    pub(crate) fn postpone(&mut self, done: EndedAttempt, until: Timestamp) {
        self.postponed.push_back((until, done));
    }

    pub(crate) fn postponed_until(&self) -> Option<Timestamp> {
        self.postponed.front().map(|(until, _)| *until)
    }

    /// Those whose time has come are over like any other; all of them wait equally long, so they are in order.
    pub(crate) fn release_postponed(&mut self) {
        let now = self.runtime().now();
        while let Some((_, done)) = self.postponed.pop_front_if(|(until, _)| *until <= now) {
            self.over.push_back(done);
        }
    }

    /// Recorded, or no longer this worker's to record.
    pub(crate) fn forget(&mut self, done: &EndedAttempt) {
        self.open.remove(&key(&done.timer));
    }

    fn note(&mut self, done: EndedAttempt) {
        self.typical = (self.typical * 7 + done.took) / 8;
        self.over.push_back(done);
    }

    fn joined(&mut self, done: Result<EndedAttempt, tokio::task::JoinError>) {
        match done {
            Ok(done) => self.note(done),
            // Panics are caught where they happen, and only the end of the runner aborts a task.
            Err(error) => tracing::error!(%error, "an attempt vanished"),
        }
    }

    pub(crate) fn requests(&self, done: &[EndedAttempt]) -> Vec<RecordRequest> {
        let request = |done: &EndedAttempt| RecordRequest {
            lock: done.lock,
            timer: done.timer.clone(),
            ticket: done.ticket.clone(),
            attempt: done.attempt.clone(),
            outcome: done.outcome.clone(),
            fresh: id::random(&*self.runtime().entropy),
        };
        done.iter().map(request).collect()
    }
}

fn key(timer: &DueTimer) -> (String, Uuid) {
    (timer.action_id.clone(), timer.guid)
}

async fn make(control: Control, begun: StartedAttempt, deadline: Timestamp) -> EndedAttempt {
    let started = control.runtime().now();
    if planted::has(Bug::ActionRecordedFirst) {
        let later = started.plus(Duration::from_secs(1));
        control.runtime().clock.sleep_until(later).await;
    }
    let outcome = attempt::make(&control, &begun.run, deadline).await;
    let took = control.runtime().now().since(started);
    EndedAttempt::of(begun, outcome, took)
}
