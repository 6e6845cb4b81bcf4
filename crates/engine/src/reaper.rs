//! Finds what was lost: leases whose holder vanished, and executions that could run but have no message.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{ExpiredLease, RecoveryStore, StoreResult, SweepRequest};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::{Clock, Timestamp};

use crate::announcer::Announcer;
use crate::graphs::Graphs;
use crate::hints::Hints;
use crate::metrics::WorkerMetrics;
use crate::publisher::Publisher;
use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};

const PAGE: u32 = 500;
/// Pages of the sweep per tick, so that a long backlog is walked in turns.
const PAGES: u32 = 20;

pub struct Reaper {
    store: Arc<dyn RecoveryStore>,
    graphs: Arc<Graphs>,
    publisher: Publisher,
    announcer: Announcer,
    /// Knows how long messages wait.
    hints: Arc<Hints>,
    running: Arc<RunningPasses>,
    metrics: Arc<WorkerMetrics>,
    clock: Arc<dyn Clock>,
    interval: Duration,
    /// An execution that could run and has waited this long gets a new message.
    sweep_after: Duration,
    /// No other process can be on this store.
    exclusive: bool,
    /// Where the sweep goes on next tick.
    cursor: Option<ExecutionId>,
}

/// What a tick did; for tests and metrics.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub reaped: usize,
    pub swept: usize,
}

impl Reaper {
    pub fn new(runtime: &Runtime) -> Self {
        Self::of_worker(runtime, Arc::default())
    }

    /// The reaper of a worker that holds these executions.
    pub(crate) fn of_worker(runtime: &Runtime, running: Arc<RunningPasses>) -> Self {
        Self {
            store: runtime.store.clone(),
            graphs: runtime.graphs.clone(),
            publisher: runtime.publisher.clone(),
            announcer: runtime.announcer.clone(),
            hints: runtime.hints.clone(),
            running,
            metrics: runtime.metrics.workers.clone(),
            clock: runtime.clock.clone(),
            interval: runtime.options.reaper_interval,
            sweep_after: runtime.options.sweep_after,
            exclusive: runtime.options.exclusive,
            cursor: None,
        }
    }

    /// Alone on the store and with nothing in hand, there is hardly anything to find: an idle process sleeps longer.
    fn pause(&self) -> Duration {
        if self.exclusive && self.running.is_empty() {
            self.interval * 6
        } else {
            self.interval
        }
    }

    pub async fn recover(&mut self) -> StoreResult<Progress> {
        // A worker that holds a lease is running: where the sweep saw nothing that could run, no lease can have run out.
        let swept = if planted::has(Bug::NoSweeper) {
            Ok((0, true))
        } else {
            self.sweep().await
        };
        // A sweep that fails says nothing about leases.
        let reaped = match &swept {
            Ok((_, false)) => 0,
            _ => self.reap().await?,
        };
        let (swept, _) = swept?;
        Ok(Progress { reaped, swept })
    }

    async fn reap(&self) -> StoreResult<usize> {
        let mut reaped = 0;
        for expired in self.store.expired(self.clock.now(), PAGE).await? {
            let on_stuck = self.on_stuck(&expired).await;
            let id = expired.execution_id;
            let taken = match self.store.reap(id, on_stuck, self.clock.now()).await {
                Ok(Some(taken)) => taken,
                Ok(None) => continue,
                Err(error) => {
                    // The next one may be readable, or free.
                    tracing::warn!(execution_id = %id, %error, "a lease that has run out could not be taken");
                    continue;
                }
            };
            tracing::warn!(execution_id = %id, ended = ?taken.applied.ended, "lease taken from a worker that vanished");
            self.announcer.announce(id, &taken.applied);
            self.metrics.leases_reaped.increment();
            reaped += 1;
            if let Some(dispatch) = taken.dispatch {
                self.publisher.publish(dispatch).await;
            }
        }
        Ok(reaped)
    }

    /// What the schema wants; one that cannot be read is tried again rather than failed.
    async fn on_stuck(&self, expired: &ExpiredLease) -> OnStuck {
        let (schema_id, version) = (expired.schema_id, expired.schema_version);
        match self.graphs.get(schema_id, version).await {
            Ok(graph) => graph.definition().settings.on_stuck,
            Err(_) => OnStuck::Requeue,
        }
    }

    /// A long queue is no lost message: what waits about as long as messages of its class do now is not swept.
    fn idle_since(&self, now: Timestamp) -> [Timestamp; 3] {
        let ages = self.hints.backlog.ages(now);
        ages.map(|age| now.minus(self.sweep_after.max(age * 2)))
    }

    /// How many got a message, and whether anything was looked at.
    async fn sweep(&mut self) -> StoreResult<(usize, bool)> {
        // Each sweep puts what it found off for longer: none may be wasted on a queue that is not there.
        if !self.publisher.is_open() {
            return Ok((0, true));
        }
        let mut swept = 0;
        let mut anything = self.cursor.is_some();
        for _ in 0..PAGES {
            let now = self.clock.now();
            let request = SweepRequest {
                now,
                idle_since: self.idle_since(now),
                back_off: self.sweep_after.max(Duration::from_secs(1)),
                after: self.cursor,
                limit: PAGE,
            };
            let sweep = self.store.sweep(request).await?;
            swept += sweep.due.len();
            let count = sweep.due.len() as u64;
            self.metrics.messages_swept.add(count);
            anything |= sweep.looked_at > 0;
            self.publisher.publish_all(sweep.due).await;
            self.cursor = sweep.next;
            if self.cursor.is_none() {
                break;
            }
        }
        Ok((swept, anything))
    }
}

impl Service for Reaper {
    fn name(&self) -> &'static str {
        "reaper"
    }

    fn first_tick(&self) -> NextTick {
        NextTick::After(self.pause())
    }

    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        let progress = self.recover().await?;
        if progress != Progress::default() {
            tracing::info!(?progress, "recovered");
        }
        Ok(NextTick::After(self.pause()))
    }

    fn after_error(&self) -> NextTick {
        NextTick::After(self.pause())
    }
}
