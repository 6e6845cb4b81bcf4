//! Wakes executions whose wait is over and makes what is due of the scheduled actions. Works on the queue tables under
//! shard locks. The near future is in memory ([`near`]); what was overdue when we came is caught up with at a measured
//! [`pace`].
//!
//! A row that is due goes to `begin_actions`, which writes an attempt down if it is an action's; then it is made, then
//! recorded ([`crate::actions`]). A crash in between is found by whoever has the shard next. Waits are fired as they are:
//! one transaction ends them.

mod locks;
mod near;
mod pace;

use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::ports::schedule::Begun;
use pawl_kernel::ports::store::{Dispatch, DueTimer, StoreError, StoreResult};
use pawl_kernel::schedule::Record;
use pawl_kernel::time::Timestamp;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::actions::{Done, Runner};
use crate::control::Control;
use crate::hints::News;
use crate::parts::Parts;
use crate::worker::Handle;
use near::{Near, Room, Seen};
use pace::Pace;

/// Most timers fired, begun or recorded in one transaction.
const BATCH: usize = 256;
const COLLECT_BATCH: u32 = 1_000;
/// New timers are looked for this often if nobody can tell us of them.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const LOOK_EVERY_EXCLUSIVE: Duration = Duration::from_secs(60);
/// Who is told of a timer takes it in this soon, so that many of them are not to be taken in when they are due.
const TAKE_IN_AFTER: Duration = Duration::from_secs(1);
/// How far ahead, and how many rows, a usual look goes.
const HORIZON: Duration = Duration::from_secs(60);
const WINDOW: u32 = 512;
/// Where more is due than that, everything due is looked at, so that the old does not hide the new. Not often.
const DEEP_WINDOW: u32 = 100_000;
const DEEP_AHEAD: Duration = Duration::from_secs(1);
const DEEP_SPACING: Duration = Duration::from_millis(50);
/// Having slept so much longer than planned, or the clock set back so far, is an outage.
const STALL: Duration = Duration::from_secs(5);
/// Batches of messages on their way to the queue at once.
const SENDING_MAX: usize = 8;
const COUNT_EVERY: Duration = Duration::from_secs(1);

pub struct Timers {
    parts: Parts,
    guid: Uuid,
    shards: Vec<u32>,
    /// From then on the locks may be somebody else's.
    held_until: Timestamp,
    next_heartbeat: Timestamp,
    next_try: Timestamp,
    next_look: Timestamp,
    next_count: Timestamp,
    near: Near,
    runner: Runner,
    /// Messages for those who were woken. What is lost here is found by the sweeper.
    sending: JoinSet<()>,
    pace: Pace,
    /// What was due before this was overdue when we came, or came back.
    since: Timestamp,
    /// When the last tick was, and when the next was to be at the latest.
    last_tick: (Timestamp, Timestamp),
    stop: CancellationToken,
}

impl Timers {
    pub fn new(parts: Parts) -> Self {
        let control = Control::new(parts, None);
        Self::with_control(control, CancellationToken::new())
    }

    /// The timers of a worker: executions that they start may run in it. After `stop` nothing new is begun.
    pub(crate) fn of_worker(parts: Parts, worker: Handle, stop: CancellationToken) -> Self {
        Self::with_control(Control::new(parts, Some(worker)), stop)
    }

    fn with_control(control: Control, stop: CancellationToken) -> Self {
        let parts = control.parts().clone();
        let start = Timestamp::default();
        Self {
            guid: id::random(&*parts.entropy),
            shards: Vec::new(),
            held_until: start,
            next_heartbeat: start,
            next_try: start,
            next_look: start,
            next_count: start,
            near: Near::default(),
            runner: Runner::new(control),
            sending: JoinSet::new(),
            pace: Pace::new(parts.options.catch_up_rate),
            since: start,
            last_tick: (start, start),
            stop,
            parts,
        }
    }

    /// What our locks are marked with.
    pub(crate) fn guid(&self) -> Uuid {
        self.guid
    }

    /// Works for ever; says by `finished` when it was told to stop and all of its attempts are over and recorded.
    pub(crate) async fn run(mut self, finished: CancellationToken) {
        loop {
            let wake_at = match self.tick().await {
                Ok(next) => next,
                Err(error) => self.failed(&error),
            };
            if self.stop.is_cancelled() && self.runner.is_idle() {
                while self.sending.join_next().await.is_some() {}
                finished.cancel();
                return std::future::pending().await;
            }
            self.wait(wake_at).await;
        }
    }

    /// Whatever was missed is looked at as soon as the store answers again.
    fn failed(&mut self, error: &StoreError) -> Timestamp {
        tracing::warn!(%error, "timers");
        let now = self.parts.now();
        self.next_look = now;
        self.since = now;
        self.near.forget();
        now.plus(Duration::from_secs(1))
    }

    /// Fires what is due and records what is over; returns when to look again.
    pub async fn tick(&mut self) -> StoreResult<Timestamp> {
        self.hear();
        self.notice_gaps();
        self.record().await?;
        self.hold_shards().await?;
        self.parts.metrics.timers.shards_held(&self.shards);
        if self.stop.is_cancelled() {
            self.runner.give_back();
            self.record().await?;
            return Ok(self.parts.now().plus(self.lock_heartbeat()));
        }
        while !self.shards.is_empty() && self.turn().await? {
            self.hear();
            self.record().await?;
            // A long row of them takes its time; the locks must not run out meanwhile.
            self.hold_shards().await?;
        }
        let wake_at = self.wake_at();
        self.last_tick = (self.parts.now(), wake_at);
        Ok(wake_at)
    }

    /// One batch of everything. `false`: there is nothing more to do now.
    async fn turn(&mut self) -> StoreResult<bool> {
        self.collect().await?;
        self.look_ahead().await?;
        let fired = self.fire().await?;
        self.runner.start(self.held_until);
        let now = self.parts.now();
        let more = fired || self.next_look <= now || self.runner.has_over();
        Ok(more && !self.stop.is_cancelled())
    }

    fn hear(&mut self) {
        if let Some(at) = self.parts.hints.take_next_timer() {
            let soon = self.parts.now().plus(TAKE_IN_AFTER);
            self.next_look = self.next_look.min(at.min(soon));
        }
    }

    /// A process that was asleep, or a clock that was set: what is overdue now is a backlog, and no time that was planned
    /// means anything.
    fn notice_gaps(&mut self) {
        let now = self.parts.now();
        let (last, planned) = self.last_tick;
        if planned.max(last).plus(STALL) < now {
            self.since = now;
        }
        if now.plus(STALL) < last {
            self.since = self.since.min(now);
            for next in [
                &mut self.next_heartbeat,
                &mut self.next_try,
                &mut self.next_look,
                &mut self.next_count,
            ] {
                *next = now.min(*next);
            }
            self.near.forget();
        }
    }

    fn wake_at(&self) -> Timestamp {
        let now = self.parts.now();
        if self.shards.is_empty() {
            return self.next_hold();
        }
        let mut wake_at = self.near.wake_at(now);
        if self.near.has_overdue(self.since, self.runner.room() > 0) {
            wake_at = wake_at.min(self.pace.next(now));
        }
        wake_at.min(self.next_look).min(self.next_hold())
    }

    fn look_interval(&self) -> Duration {
        if self.parts.options.exclusive {
            LOOK_EVERY_EXCLUSIVE
        } else if self.parts.hints.hears_others() {
            // A net below the net: for those who died before they could tell, and for hints that got lost.
            self.parts.options.shard_lock
        } else {
            LOOK_EVERY.min(self.parts.options.shard_lock)
        }
    }

    /// Sleeps until `wake_at`, until a timer due sooner is committed or an attempt is over.
    async fn wait(&mut self, wake_at: Timestamp) {
        let mut wake_at = wake_at;
        let stop = self.stop.clone();
        let stopping = stop.is_cancelled();
        loop {
            tokio::select! {
                biased;
                () = self.parts.clock.sleep_until(wake_at) => return,
                () = self.runner.wait() => return,
                () = stop.cancelled(), if !stopping => return,
                () = self.parts.hints.timer_added() => {
                    self.hear();
                    wake_at = wake_at.min(self.next_look);
                }
            }
        }
    }

    /// Takes in a batch of what is new, if it is time to look.
    async fn collect(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if now < self.next_look {
            return Ok(());
        }
        // Set first: a hint that comes while we look brings it forward again.
        self.next_look = now.plus(self.look_interval());
        let moved = self
            .parts
            .store
            .collect(self.guid, &self.shards, now, COLLECT_BATCH)
            .await?;
        if moved > 0 {
            self.near.outdated();
        }
        if moved >= COLLECT_BATCH {
            self.next_look = now;
        }
        Ok(())
    }

    /// Reads what comes next, if that is not known. Rows that turn up again although they were dealt with mean that a
    /// shard is not ours any more, or that somebody is at them; then all locks are asked for before anything else.
    async fn look_ahead(&mut self) -> StoreResult<()> {
        let now = self.parts.now();
        if self.near.wants_look(now) {
            let seen = self.see(now).await?;
            if self.near.look(seen, now) {
                self.next_heartbeat = Timestamp::default();
            }
        }
        self.count_due(now);
        Ok(())
    }

    async fn see(&self, now: Timestamp) -> StoreResult<Seen> {
        let store = &self.parts.store;
        let end = now.plus(HORIZON);
        let rows = store.upcoming(&self.shards, end, WINDOW).await?;
        let is_full = rows.len() >= WINDOW as usize;
        let last = rows.last().map(|row| row.at);
        if is_full && last.is_some_and(|last| last <= now) {
            return self.see_deep(now).await;
        }
        let until = match last {
            Some(last) if is_full => last,
            Some(_) => end,
            // With nothing near, nobody asks again before there is something.
            None => {
                let next = store.next_due(&self.shards).await?;
                let never = Timestamp::from_micros(i64::MAX);
                next.map_or(never, |at| at.minus(HORIZON / 2).max(end))
            }
        };
        Ok(Seen {
            rows,
            until,
            not_before: Timestamp::default(),
        })
    }

    /// More is due than a usual look shows.
    async fn see_deep(&self, now: Timestamp) -> StoreResult<Seen> {
        let end = now.plus(DEEP_AHEAD);
        let rows = self
            .parts
            .store
            .upcoming(&self.shards, end, DEEP_WINDOW)
            .await?;
        let is_full = rows.len() >= DEEP_WINDOW as usize;
        let until = rows.last().map(|row| row.at).filter(|_| is_full);
        let now_then = self.parts.now();
        let spacing = (now_then.since(now) * 10).clamp(DEEP_SPACING, DEEP_AHEAD);
        Ok(Seen {
            rows,
            until: until.unwrap_or(end),
            not_before: now_then.plus(spacing),
        })
    }

    fn count_due(&mut self, now: Timestamp) {
        if now >= self.next_count {
            self.next_count = now.plus(COUNT_EVERY);
            let due = self.near.due_by_shard(now, &self.shards);
            self.parts.metrics.timers_due(&due);
        }
    }

    /// Deals with one batch of what is due. `false`: there is none that may go now.
    async fn fire(&mut self) -> StoreResult<bool> {
        let now = self.parts.now();
        let due = self.take_due(now);
        if due.is_empty() {
            return Ok(false);
        }
        let limits = self.parts.options.schedule_limits();
        let begun = self
            .parts
            .store
            .begin_actions(self.guid, due.clone(), limits, now)
            .await?;
        if begun.runs.len() + begun.waits.len() < due.len() {
            // Put off, dropped, or not ours.
            self.near.outdated();
        }
        self.begun(begun, now).await?;
        Ok(true)
    }

    fn take_due(&mut self, now: Timestamp) -> Vec<DueTimer> {
        let room = Room {
            rows: BATCH,
            actions: self.runner.room(),
            overdue: self.pace.left(now),
        };
        let runner = &self.runner;
        let due = self
            .near
            .take_due(now, self.since, room, |row| runner.has(row));
        let overdue = due.iter().filter(|row| row.at < self.since).count();
        self.pace.spend(overdue);
        due
    }

    async fn begun(&mut self, begun: Begun, now: Timestamp) -> StoreResult<()> {
        let metrics = &self.parts.metrics.timers;
        metrics.fired(begun.runs.iter().map(|(row, _)| row), now);
        metrics.begun(&begun.runs);
        for (row, run) in &begun.runs {
            self.near.settled(row);
            if let Some(at) = run.row.due_at() {
                self.near.add(DueTimer { at, ..row.clone() });
            }
        }
        // They are written down: they are made even if the rest fails.
        self.runner.begin(begun.runs, now);
        self.runner.start(self.held_until);
        self.wake(begun.waits, now).await
    }

    async fn wake(&mut self, waits: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        if waits.is_empty() {
            return Ok(());
        }
        self.parts.metrics.timers.fired(waits.iter(), now);
        let woken = self.parts.store.fire(self.guid, waits.clone(), now).await?;
        if woken.len() == waits.len() {
            waits.iter().for_each(|row| self.near.settled(row));
        } else {
            // Whoever was woken without a message stands in line now, or was not there any more, or is not ours to wake.
            self.parts.line_changed();
            self.near.outdated();
        }
        for dispatch in &woken {
            self.parts
                .hints
                .changed(dispatch.execution_id, News::default());
        }
        self.send(woken).await
    }

    /// Nobody else waits while a broker takes its time; where it takes too much, the locks are kept meanwhile.
    async fn send(&mut self, woken: Vec<Dispatch>) -> StoreResult<()> {
        while self.sending.len() >= SENDING_MAX {
            let clock = self.parts.clock.clone();
            let wake_at = self.parts.now().plus(self.lock_heartbeat());
            tokio::select! {
                _ = self.sending.join_next() => {}
                () = clock.sleep_until(wake_at) => self.hold_shards().await?,
            }
        }
        while self.sending.try_join_next().is_some() {}
        if !woken.is_empty() {
            let parts = self.parts.clone();
            self.sending
                .spawn(async move { parts.publish_all(woken).await });
        }
        Ok(())
    }

    /// Writes down what became of attempts. What cannot be written now stays; said twice it counts once.
    async fn record(&mut self) -> StoreResult<()> {
        loop {
            let done = self.runner.take_over(BATCH);
            if done.is_empty() {
                return Ok(());
            }
            let (requests, now) = (self.runner.requests(&done), self.parts.now());
            let limits = self.parts.options.schedule_limits();
            let store = &self.parts.store;
            match store.record_actions(self.guid, requests, limits, now).await {
                Ok(records) => {
                    for (done, record) in done.iter().zip(records) {
                        self.recorded(done, record);
                    }
                    // There are slots again.
                    self.runner.start(self.held_until);
                }
                Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                    self.runner.keep(done);
                    return Err(error);
                }
                Err(error) => {
                    tracing::error!(%error, attempts = done.len(), "ends of attempts cannot be recorded; they will count as interrupted");
                    done.iter().for_each(|done| self.runner.forget(done));
                    return Err(error);
                }
            }
        }
    }

    fn recorded(&mut self, done: &Done, record: Option<Record>) {
        self.runner.forget(done);
        self.near.remove(&done.row());
        self.parts
            .metrics
            .timers
            .recorded(&done.outcome, record.as_ref());
        match record {
            Some(Record::Written(written)) => {
                let Some(at) = written.row.due_at() else {
                    return;
                };
                if written.requeue {
                    return self.parts.timer_set(at);
                }
                self.near.add(DueTimer {
                    at,
                    ..done.timer.clone()
                });
            }
            // Somebody has counted it as interrupted, or it was written anew.
            Some(Record::Late(_)) => self.near.outdated(),
            // The shard is somebody else's.
            None => {
                self.next_heartbeat = Timestamp::default();
                self.near.outdated();
            }
        }
    }
}
