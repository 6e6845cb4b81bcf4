//! The metrics of the engine by what they are about, each with the one line that others call.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::{PriorityClass, State, Status, Step, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{CommitRefusal, Skip};
use pawl_kernel::ports::queue::{Delivery, QueueError};
use pawl_kernel::ports::store::{Claim, DueTimer};
use pawl_kernel::schedule::{AttemptOutcome, RecordResult, Run};
use pawl_kernel::time::Timestamp;

use super::catalogue as all;
use super::registry::SeriesRegistry;
use super::series::{Counter, Gauge, GaugeGuard, Histogram};

pub struct ExecutionMetrics {
    pub started: Arc<Counter>,
    pub interrupted: Arc<Counter>,
    ended: Vec<(Status, Arc<Counter>, Arc<Histogram>)>,
    steps: [Arc<Counter>; 3],
}

impl ExecutionMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        let terminal = Status::ALL.iter().filter(|status| status.is_terminal());
        let step = |status: StepStatus| series.counter(&all::STEPS_COMMITTED, &[status.name()]);
        Self {
            started: series.counter(&all::EXECUTIONS_STARTED, &[]),
            interrupted: series.counter(&all::EFFECTS_INTERRUPTED, &[]),
            ended: terminal
                .map(|status| {
                    let label = [status.name()];
                    let count = series.counter(&all::EXECUTIONS_ENDED, &label);
                    let duration = series.histogram(&all::EXECUTION_DURATION, &label);
                    (*status, count, duration)
                })
                .collect(),
            steps: STEP_STATUSES.map(step),
        }
    }

    pub(crate) fn ended(&self, id: ExecutionId, status: Status, now: Timestamp) {
        let found = self.ended.iter().find(|(known, _, _)| *known == status);
        let Some((_, count, duration)) = found else {
            return;
        };
        count.increment();
        if let Some(created) = created_at(id) {
            duration.record_time(now.since(created));
        }
    }

    /// Steps committed by this process, whatever became of them.
    pub fn step_count(&self) -> u64 {
        self.steps.iter().map(|counter| counter.get()).sum()
    }

    pub(super) fn steps(&self, steps: &[Step]) {
        for (status, counter) in STEP_STATUSES.iter().zip(&self.steps) {
            let count = steps.iter().filter(|step| step.status == *status).count();
            if count > 0 {
                counter.add(count as u64);
            }
        }
    }
}

const STEP_STATUSES: [StepStatus; 3] =
    [StepStatus::Success, StepStatus::Failed, StepStatus::Skipped];

/// The caller that ends an execution need not have its row at hand: its id says when it was made.
fn created_at(id: ExecutionId) -> Option<Timestamp> {
    if id.0.get_version_num() != 7 {
        return None;
    }
    let (high, _) = id.0.as_u64_pair();
    // Milliseconds in the first 48 bits; the 12 after the version divide one of them (see `time_ordered`).
    let micros = (high >> 16) * 1_000 + (high & 0xfff) * 1_000 / 4_096;
    Some(Timestamp::from_micros(i64::try_from(micros).ok()?))
}

pub struct CommitMetrics {
    duration: Arc<Histogram>,
    steps: Arc<Histogram>,
    pub retries: Arc<Counter>,
    pub rejected: Arc<Counter>,
    fenced: Arc<Counter>,
    inbox: Arc<Counter>,
    pub found_committed: Arc<Counter>,
    pub found_absent: Arc<Counter>,
    pub found_lost: Arc<Counter>,
}

impl CommitMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        let refused = |reason| series.counter(&all::COMMITS_REFUSED, &[reason]);
        let unknown = |found| series.counter(&all::COMMITS_UNKNOWN, &[found]);
        Self {
            duration: series.histogram(&all::COMMIT_DURATION, &[]),
            steps: series.histogram(&all::COMMIT_STEPS, &[]),
            retries: series.counter(&all::COMMIT_RETRIES, &[]),
            rejected: refused("rejected"),
            fenced: refused("fenced"),
            inbox: refused("inbox"),
            found_committed: unknown("committed"),
            found_absent: unknown("absent"),
            found_lost: unknown("lost"),
        }
    }

    pub(super) fn done(&self, steps: usize, took: Duration) {
        self.duration.record_time(took);
        self.steps.record(steps as u64);
    }

    pub(crate) fn refused(&self, reason: CommitRefusal) {
        match reason {
            CommitRefusal::Fenced => self.fenced.increment(),
            CommitRefusal::InboxChanged => self.inbox.increment(),
        }
    }
}

pub struct QueueMetrics {
    received: Arc<Counter>,
    age: Arc<Histogram>,
    skipped: Vec<(Skip, Arc<Counter>)>,
    published: Arc<Counter>,
    full: Arc<Counter>,
    unavailable: Arc<Counter>,
    closed: Arc<Counter>,
    answers_lost: Arc<Counter>,
    up: Arc<Gauge>,
}

/// Suspects are not skipped but put aside, and counted as such.
const SKIPS: [(Skip, &str); 7] = [
    (Skip::Duplicate, "duplicate"),
    (Skip::Leased, "leased"),
    (Skip::Ended, "ended"),
    (Skip::Waiting, "waiting"),
    (Skip::Held, "held"),
    (Skip::Unknown, "unknown"),
    (Skip::Busy, "busy"),
];

impl QueueMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        let failed = |reason| series.counter(&all::PUBLISH_FAILURES, &[reason]);
        let skip = |(skip, reason)| (skip, series.counter(&all::MESSAGES_SKIPPED, &[reason]));
        let up = series.gauge(&all::BROKER_UP, &[]);
        up.set(1);
        Self {
            received: series.counter(&all::MESSAGES_RECEIVED, &[]),
            age: series.histogram(&all::MESSAGE_AGE, &[]),
            skipped: SKIPS.map(skip).into(),
            published: series.counter(&all::MESSAGES_PUBLISHED, &[]),
            full: failed("full"),
            unavailable: failed("unavailable"),
            closed: failed("closed"),
            answers_lost: series.counter(&all::ANSWERS_LOST, &[]),
            up,
        }
    }

    pub(crate) fn received(&self, deliveries: &[Delivery], now: Timestamp) {
        self.up.set(1);
        self.received.add(deliveries.len() as u64);
        for delivery in deliveries {
            self.age
                .record_time(now.since(delivery.message.published_at));
        }
    }

    fn skipped(&self, reason: Skip) {
        let known = self.skipped.iter().find(|(known, _)| *known == reason);
        if let Some((_, counter)) = known {
            counter.increment();
        }
    }

    pub fn answer_lost(&self) {
        self.answers_lost.increment();
    }

    /// Messages that this process has published.
    pub fn published_count(&self) -> u64 {
        self.published.get()
    }

    pub(crate) fn published(&self, result: &Result<(), QueueError>) {
        match result {
            Ok(()) => {
                self.published.increment();
                self.up.set(1);
            }
            Err(error) => self.publish_failed(error),
        }
    }

    fn publish_failed(&self, error: &QueueError) {
        match error {
            QueueError::Full => self.full.increment(),
            QueueError::Unavailable(_) => {
                self.unavailable.increment();
                self.up.set(0);
            }
            QueueError::Closed => self.closed.increment(),
        }
    }

    /// Nothing could be received.
    pub(crate) fn silent(&self) {
        self.up.set(0);
    }

    /// Did the queue answer when it was last used?
    pub fn is_up(&self) -> bool {
        self.up.get() == 1
    }

    /// For a caller that knows better than by using it.
    pub fn set_up(&self, up: bool) {
        self.up.set(i64::from(up));
    }
}

impl super::Metrics {
    /// What became of the messages that were claimed together.
    pub(crate) fn claimed(&self, claims: &[Claim]) {
        for claim in claims {
            match claim {
                Claim::Skipped(Skip::Suspect) => self.workers.suspects.increment(),
                Claim::Skipped(reason) => self.queue.skipped(*reason),
                Claim::Taken(_) | Claim::Ended(_) => {}
            }
        }
    }

    /// Which shards of the timers are held here, of so many.
    pub(crate) fn timer_shards(&self, held: &[u32], shards: u32) {
        for shard in 0..shards {
            let gauge = self
                .series
                .gauge(&all::TIMER_SHARD_OWNED, &[&shard.to_string()]);
            gauge.set(i64::from(held.contains(&shard)));
            if !held.contains(&shard) {
                self.timers_due(&[(shard, 0)]);
            }
        }
    }

    /// How many timers are known to be due in each shard that is held here.
    pub(crate) fn timers_due(&self, due: &[(u32, usize)]) {
        for (shard, count) in due {
            let gauge = self.series.gauge(&all::TIMERS_DUE, &[&shard.to_string()]);
            gauge.set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
    }

    /// Who is asked how many messages of a class wait.
    pub fn observe_queue_depth(
        &self,
        class: PriorityClass,
        depth: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        self.series
            .observe(&all::QUEUE_DEPTH, &[class.name()], depth);
    }

    /// When a service last ticked, in seconds since 1970.
    pub(crate) fn service_last_tick(&self, service: &'static str) -> Arc<Gauge> {
        self.series.gauge(&all::SERVICE_LAST_TICK, &[service])
    }

    /// The gauge itself, for a caller that sets it from time to time.
    pub fn queue_depth(&self, class: PriorityClass) -> Arc<Gauge> {
        self.series.gauge(&all::QUEUE_DEPTH, &[class.name()])
    }
}

pub struct WorkerMetrics {
    workers: Arc<Gauge>,
    slots: Arc<Gauge>,
    busy: Arc<Gauge>,
    pub heartbeats: Arc<Counter>,
    pub heartbeat_failures: Arc<Counter>,
    pub leases_lost: Arc<Counter>,
    pub leases_reaped: Arc<Counter>,
    recoveries: Arc<Counter>,
    suspects: Arc<Counter>,
    pub messages_swept: Arc<Counter>,
}

impl WorkerMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        Self {
            workers: series.gauge(&all::WORKERS, &[]),
            slots: series.gauge(&all::WORKER_SLOTS, &[]),
            busy: series.gauge(&all::WORKER_SLOTS_BUSY, &[]),
            heartbeats: series.counter(&all::HEARTBEATS, &[]),
            heartbeat_failures: series.counter(&all::HEARTBEAT_FAILURES, &[]),
            leases_lost: series.counter(&all::LEASES_LOST, &[]),
            leases_reaped: series.counter(&all::LEASES_REAPED, &[]),
            recoveries: series.counter(&all::RECOVERIES, &[]),
            suspects: series.counter(&all::SUSPECTS, &[]),
            messages_swept: series.counter(&all::MESSAGES_SWEPT, &[]),
        }
    }

    /// A worker takes messages for as long as the answer lives.
    pub(crate) fn worker_here(&self, slots: usize) -> [GaugeGuard; 2] {
        let slots = i64::try_from(slots).unwrap_or(i64::MAX);
        [self.workers.raised(1), self.slots.raised(slots)]
    }

    /// A pass runs for as long as the answer lives.
    pub(crate) fn pass_here(&self, claimed: &State) -> GaugeGuard {
        // Claims are counted from the last commit on, this one included.
        if claimed.recoveries > 1 || claimed.interrupted {
            self.recoveries.increment();
        }
        self.busy.raised(1)
    }
}

pub struct TimerMetrics {
    fired: Arc<Counter>,
    lateness: Arc<Histogram>,
    shards_held: Arc<Gauge>,
    succeeded: Arc<Counter>,
    failed: Arc<Counter>,
    interrupted: Arc<Counter>,
    given_back: Arc<Counter>,
    late: Arc<Counter>,
    lost: Arc<Counter>,
}

impl TimerMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        let attempts = |outcome| series.counter(&all::ACTION_ATTEMPTS, &[outcome]);
        Self {
            fired: series.counter(&all::TIMERS_FIRED, &[]),
            lateness: series.histogram(&all::TIMER_LATENESS, &[]),
            shards_held: series.gauge(&all::TIMER_SHARDS_HELD, &[]),
            succeeded: attempts("success"),
            failed: attempts("failed"),
            interrupted: attempts("interrupted"),
            given_back: attempts("given_back"),
            late: attempts("late"),
            lost: attempts("lost"),
        }
    }

    pub(crate) fn fired<'t>(&self, timers: impl Iterator<Item = &'t DueTimer>, now: Timestamp) {
        for timer in timers {
            self.fired.increment();
            self.lateness.record_time(now.since(timer.at));
        }
    }

    /// Attempts were begun; with some of them one before was found interrupted.
    pub(crate) fn begun(&self, runs: &[(DueTimer, Run)]) {
        let found = runs.iter().filter(|(_, run)| run.interrupted.is_some());
        self.interrupted.add(found.count() as u64);
    }

    /// `record` is what the store said to an attempt that ended like this.
    pub(crate) fn recorded(&self, outcome: &AttemptOutcome, record: Option<&RecordResult>) {
        let counter = match (record, outcome) {
            (None, _) => &self.lost,
            (Some(RecordResult::Busy), _) => return,
            (Some(RecordResult::Late(_)), _) => &self.late,
            (Some(RecordResult::Written(_)), AttemptOutcome::Success) => &self.succeeded,
            (Some(RecordResult::Written(_)), AttemptOutcome::Failed(_)) => &self.failed,
            (Some(RecordResult::Written(_)), AttemptOutcome::NotMade) => &self.given_back,
        };
        counter.increment();
    }

    pub(crate) fn shards_held(&self, shards: &[u32]) {
        self.shards_held.set(shards.len() as i64);
    }
}

pub struct SchedulerMetrics {
    pub lined_up: Arc<Counter>,
    admitted: Arc<Counter>,
    waiting: Arc<Gauge>,
}

impl SchedulerMetrics {
    pub(super) fn new(series: &SeriesRegistry) -> Self {
        Self {
            lined_up: series.counter(&all::SCHEDULER_LINED_UP, &[]),
            admitted: series.counter(&all::SCHEDULER_ADMITTED, &[]),
            waiting: series.gauge(&all::SCHEDULER_WAITING, &[]),
        }
    }

    /// A look at the line let so many in, and perhaps an execution still waits.
    pub(crate) fn looked(&self, admitted: usize, waiting: bool) {
        self.admitted.add(admitted as u64);
        self.waiting.set(i64::from(waiting));
    }
}
