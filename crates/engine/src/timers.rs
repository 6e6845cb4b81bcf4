//! Wakes executions whose wait is over and makes what is due of the scheduled actions. Works on the queue tables under
//! shard locks. The near future is in memory ([`window`]); what was overdue when this worker came is caught up with at a
//! measured [`pace`].
//!
//! A due row says what it is about. A wait goes to `fire`: one transaction ends it and deletes its row. An action goes to
//! `begin_actions`, which writes an attempt down; then the attempt is made, then recorded ([`crate::actions`]). A crash in
//! between is found by the next owner of the shard.

mod balancer;
mod locks;
mod look;
mod pace;
mod record;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{ClusterView, Dispatch, DueTimer, StoreResult, TimerKind};
use pawl_kernel::time::Timestamp;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::actions::Runner;
use crate::control::Control;
use crate::hints::News;
use crate::presence;
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};
use crate::worker::Handle;
use balancer::ShardBalancer;
pub(crate) use locks::Takings;
use look::HORIZON;
use pace::Pace;
use record::RecordAnswer;
use window::{RowBudget, TimerWindow};

/// Most timers fired, begun or recorded in one transaction.
const BATCH: usize = 512;
/// New timers are collected this soon after the first hint, so that not all of them are collected when they are due.
const TAKE_IN_AFTER: Duration = Duration::from_secs(1);
/// Having slept so much longer than planned, or the clock set back so far, is an outage.
const STALL: Duration = Duration::from_secs(5);
/// How soon a tick that failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Batches of messages on their way to the queue at once.
const SENDING_MAX: usize = 8;

pub(crate) struct Timers {
    runtime: Runtime,
    /// The shards that are ours, each with the guid of its taking.
    locks: BTreeMap<u32, Uuid>,
    takings: Takings,
    /// The name of this pass.
    sync: Uuid,
    /// Shards that go to others as soon as no attempt is open in them.
    leaving: BTreeSet<u32>,
    balancer: ShardBalancer,
    /// As the last heartbeat saw it.
    cluster: ClusterView,
    /// From then on another worker may have the locks.
    locks_valid_until: Timestamp,
    next_heartbeat: Timestamp,
    next_look: Timestamp,
    next_count: Timestamp,
    window: TimerWindow,
    /// How far ahead we look: less where much is due.
    horizon: Duration,
    runner: Runner,
    /// Ends of attempts on their way to the store.
    recording: JoinSet<RecordAnswer>,
    recorded: Vec<RecordAnswer>,
    /// So many of the next are recorded each by itself.
    singly: usize,
    /// Messages for those who were woken. What is lost here is found by the sweeper.
    sending: JoinSet<()>,
    pace: Pace,
    /// When the last tick was, and when the next was to be at the latest.
    last_tick: (Timestamp, Timestamp),
    stop: CancellationToken,
    finished: CancellationToken,
}

impl Timers {
    /// The timers of a worker: executions that they start may run in it. After `stop` nothing new is begun.
    pub(crate) fn of_worker(runtime: Runtime, worker: Handle, stop: CancellationToken) -> Self {
        let control = Control::new(runtime.clone(), Some(worker));
        let start = Timestamp::default();
        Self {
            locks: BTreeMap::new(),
            takings: Takings::default(),
            sync: Uuid::nil(),
            leaving: BTreeSet::new(),
            balancer: ShardBalancer::new(
                runtime.options.shard_lock,
                presence::counted(&runtime.options),
            ),
            cluster: ClusterView::default(),
            locks_valid_until: start,
            next_heartbeat: start,
            next_look: start,
            next_count: start,
            window: TimerWindow::default(),
            horizon: HORIZON,
            runner: Runner::new(control),
            recording: JoinSet::new(),
            recorded: Vec::new(),
            singly: 0,
            sending: JoinSet::new(),
            pace: Pace::new(runtime.options.catch_up_rate),
            last_tick: (start, start),
            stop,
            finished: CancellationToken::new(),
            runtime,
        }
    }

    pub(crate) fn takings(&self) -> Takings {
        self.takings.clone()
    }

    /// Cancelled when the timers were told to stop and all of their attempts are over and recorded.
    pub(crate) fn finished(&self) -> CancellationToken {
        self.finished.clone()
    }

    /// Whatever was missed is looked at as soon as the store answers again.
    fn missed(&mut self) {
        let now = self.runtime.now();
        self.next_look = now;
        self.reset_backlog(now);
    }

    /// Whatever is overdue now is a backlog.
    fn reset_backlog(&mut self, now: Timestamp) {
        self.window.reset(now);
    }

    /// Fires what is due and records what is over; returns when to look again.
    async fn work(&mut self) -> StoreResult<Timestamp> {
        self.sync = id::random(&*self.runtime.entropy);
        self.take_hints();
        self.notice_gaps();
        self.record()?;
        self.hold_shards().await?;
        self.runtime.metrics.timers.shards_held(&self.shards());
        if self.stop.is_cancelled() {
            self.runner.give_back();
            self.record()?;
            let beat = self.runtime.now().plus(self.lock_heartbeat());
            return Ok(self
                .runner
                .postponed_until()
                .map_or(beat, |at| at.min(beat)));
        }
        while !self.locks.is_empty() && self.turn().await? {
            self.take_hints();
            self.record()?;
            // A long row of them takes its time; the locks must not run out meanwhile.
            self.hold_shards().await?;
        }
        let wake_at = self.wake_at();
        self.last_tick = (self.runtime.now(), wake_at);
        Ok(wake_at)
    }

    /// One batch of everything. `false`: there is nothing more to do now.
    async fn turn(&mut self) -> StoreResult<bool> {
        self.collect().await?;
        self.look_ahead().await?;
        let fired = self.fire().await?;
        self.runner.start(self.locks_valid_until);
        let now = self.runtime.now();
        let more = fired || self.next_look <= now || self.can_record();
        Ok(more && !self.stop.is_cancelled())
    }

    fn take_hints(&mut self) {
        if let Some(at) = self.runtime.hints.take_next_timer() {
            let soon = self.runtime.now().plus(TAKE_IN_AFTER);
            self.next_look = self.next_look.min(at.min(soon));
        }
    }

    /// A process that was asleep, or a clock that was set: what is overdue now is a backlog, and no time that was planned
    /// means anything.
    fn notice_gaps(&mut self) {
        let now = self.runtime.now();
        let (last, planned) = self.last_tick;
        if planned.max(last).plus(STALL) < now {
            self.reset_backlog(now);
        }
        if now.plus(STALL) < last {
            for next in [
                &mut self.next_heartbeat,
                &mut self.next_look,
                &mut self.next_count,
            ] {
                *next = now.min(*next);
            }
            self.balancer.end_cooldown();
            self.reset_backlog(now);
        }
    }

    fn wake_at(&self) -> Timestamp {
        let now = self.runtime.now();
        if self.locks.is_empty() {
            return self.next_hold();
        }
        let slots = self.runner.room();
        let mut wake_at = self.window.wake_at(now, slots);
        if self.window.has_backlog(slots) {
            wake_at = wake_at.min(self.pace.next(now));
        }
        if let Some(again_at) = self.runner.postponed_until() {
            wake_at = wake_at.min(again_at);
        }
        wake_at.min(self.next_look).min(self.next_hold())
    }

    /// Deals with one batch of what is due. `false`: there is none that may go now.
    async fn fire(&mut self) -> StoreResult<bool> {
        let mut now = self.runtime.now();
        if planted::has(Bug::ActionEarly) {
            now = now.plus(Duration::from_secs(1));
        }
        let due = self.take_due(now);
        if due.is_empty() {
            return Ok(false);
        }
        let is_wait = |row: &DueTimer| row.kind == TimerKind::Wait;
        let (waits, actions) = due.into_iter().partition(is_wait);
        self.begin(actions, now).await?;
        self.wake(waits, now).await?;
        Ok(true)
    }

    fn take_due(&mut self, now: Timestamp) -> Vec<DueTimer> {
        let budget = RowBudget {
            rows: BATCH,
            slots: self.runner.room(),
            backlog: self.pace.left(now),
        };
        let (runner, leaving) = (&self.runner, &self.leaving);
        let busy = |row: &DueTimer| leaving.contains(&row.shard_id) || runner.has(row);
        let due = self.window.take_due(now, budget, busy);
        let backlog_before = self.window.backlog_before();
        let backlog = due.iter().filter(|row| row.at < backlog_before).count();
        self.pace.spend(backlog);
        due
    }

    async fn begin(&mut self, actions: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        if actions.is_empty() {
            return Ok(());
        }
        let (due, limits) = (actions.len(), self.runtime.options.schedule_limits());
        let store = self.runtime.store.clone();
        let runs = store
            .begin_actions(self.pass(), actions, limits, now)
            .await?;
        if runs.len() < due {
            // Put off, dropped, or not ours.
            self.window.invalidate();
        }
        let metrics = &self.runtime.metrics.timers;
        metrics.fired(runs.iter().map(|(row, _)| row), now);
        metrics.begun(&runs);
        for (row, run) in &runs {
            self.window.confirm(row);
            if let Some(at) = run.row.due_at() {
                self.note(DueTimer { at, ..row.clone() });
            }
        }
        // They are written down: they are made even if the rest fails.
        self.runner.begin(runs, &self.locks, now);
        self.runner.start(self.locks_valid_until);
        Ok(())
    }

    async fn wake(&mut self, waits: Vec<DueTimer>, now: Timestamp) -> StoreResult<()> {
        if waits.is_empty() {
            return Ok(());
        }
        self.runtime.metrics.timers.fired(waits.iter(), now);
        let woken = self
            .runtime
            .store
            .fire(self.pass(), waits.clone(), now)
            .await?;
        if woken.len() == waits.len() {
            waits.iter().for_each(|row| self.window.confirm(row));
        } else {
            // An execution that was woken without a message waits for admission now; or it was gone, or is not ours to wake.
            self.runtime.admission_changed();
            self.window.invalidate();
        }
        for dispatch in &woken {
            self.runtime
                .hints
                .changed(dispatch.execution_id, News::default());
        }
        self.send(woken).await
    }

    /// Other timers do not wait while a broker takes its time; where it takes too much, the locks are kept meanwhile.
    async fn send(&mut self, woken: Vec<Dispatch>) -> StoreResult<()> {
        while self.sending.len() >= SENDING_MAX {
            let clock = self.runtime.clock.clone();
            let wake_at = self.runtime.now().plus(self.lock_heartbeat());
            tokio::select! {
                _ = self.sending.join_next() => {}
                () = clock.sleep_until(wake_at) => self.hold_shards().await?,
            }
        }
        while self.sending.try_join_next().is_some() {}
        if !woken.is_empty() {
            let publisher = self.runtime.publisher.clone();
            self.sending
                .spawn(async move { publisher.publish_all(woken).await });
        }
        Ok(())
    }
}

/// The times it asks for are exact: what is due is fired to the millisecond.
impl Service for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        let wake_at = self.work().await;
        if wake_at.is_err() {
            self.missed();
        }
        let mut next = wake_at.map(NextTick::At);
        if self.stop.is_cancelled() && self.runner.is_idle() {
            while self.sending.join_next().await.is_some() {}
            self.finished.cancel();
            next = next.map(|_| NextTick::Never);
        }
        next
    }

    fn after_error(&self) -> NextTick {
        NextTick::At(self.runtime.now().plus(RETRY_AFTER))
    }

    /// An attempt is over or recorded, the worker stops, or a timer due sooner was committed.
    async fn signal(&mut self) -> NextTick {
        let stop = self.stop.clone();
        let stopping = stop.is_cancelled();
        tokio::select! {
            biased;
            () = self.runner.wait() => NextTick::Now,
            Some(done) = self.recording.join_next() => {
                self.note_recorded(done);
                NextTick::Now
            }
            () = stop.cancelled(), if !stopping => NextTick::Now,
            () = self.runtime.hints.timer_added() => {
                self.take_hints();
                NextTick::At(self.next_look)
            }
        }
    }
}
