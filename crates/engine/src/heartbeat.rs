//! Keeps the leases of nodes in flight alive, and hears through the answers which passes must stop.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionStore, StoreResult};
use pawl_kernel::time::{Clock, Timestamp};
use uuid::Uuid;

use crate::metrics::WorkerMetrics;
use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};

/// Renews leases, and tells the passes what the store says of them.
#[derive(Clone)]
struct Renewal {
    store: Arc<dyn ExecutionStore>,
    running: Arc<RunningPasses>,
    metrics: Arc<WorkerMetrics>,
    clock: Arc<dyn Clock>,
    lease: Duration,
}

impl Renewal {
    fn new(runtime: &Runtime, running: Arc<RunningPasses>) -> Self {
        Self {
            store: runtime.store.clone(),
            running,
            metrics: runtime.metrics.workers.clone(),
            clock: runtime.clock.clone(),
            lease: runtime.options.lease,
        }
    }

    async fn renew(&self, leases: Vec<(ExecutionId, Uuid)>) -> StoreResult<()> {
        if leases.is_empty() {
            return Ok(());
        }
        let until = self.clock.now().plus(self.lease);
        let beats = self.store.heartbeat(leases.clone(), until).await;
        let beats = beats.inspect_err(|_| self.metrics.heartbeat_failures.increment())?;
        self.metrics.heartbeats.increment();
        self.running.renewed(&leases, &beats);
        Ok(())
    }
}

/// Beats three times per lease, and makes passes give up whose lease is about to end by our own clock. Sleeps without a
/// timer while nothing is in flight.
pub(crate) struct Heartbeat {
    renewal: Renewal,
    /// A pass gives up this long before its lease ends.
    margin: Duration,
    next_beat: Timestamp,
    /// Nothing was in flight at the last tick.
    idle: bool,
}

impl Heartbeat {
    pub(crate) fn new(runtime: &Runtime, running: Arc<RunningPasses>) -> Self {
        Self {
            renewal: Renewal::new(runtime, running),
            margin: runtime.options.lease_margin,
            next_beat: Timestamp::default(),
            idle: true,
        }
    }

    fn interval(&self) -> Duration {
        self.renewal.lease / 3
    }

    fn now(&self) -> Timestamp {
        self.renewal.clock.now()
    }

    /// When the first lease is to be given up, and `latest` if none is before.
    fn next_look(&self, latest: Timestamp) -> Timestamp {
        let expiry = self.renewal.running.first_expiry();
        let expiry = expiry.map(|at| at.minus(self.margin));
        expiry.map_or(latest, |at| at.min(latest))
    }

    fn give_up_expired(&self) {
        let limit = self.now().plus(self.margin);
        self.renewal.running.abandon_expired(limit);
    }

    /// A store that does not answer must not keep a pass from giving up in time.
    async fn beat(&self, now: Timestamp) -> StoreResult<()> {
        let leases = self.renewal.running.to_renew(now);
        let mut renewed = pin!(self.renewal.renew(leases));
        loop {
            let look_at = self.next_look(self.now().plus(self.interval()));
            tokio::select! {
                biased;
                done = &mut renewed => return done,
                () = self.renewal.clock.sleep_until(look_at) => self.give_up_expired(),
            }
        }
    }
}

impl Service for Heartbeat {
    fn name(&self) -> &'static str {
        "heartbeat"
    }

    fn first_tick(&self) -> NextTick {
        NextTick::OnSignal
    }

    async fn tick(&mut self, now: Timestamp) -> StoreResult<NextTick> {
        let mut beaten = Ok(());
        if now >= self.next_beat {
            beaten = self.beat(now).await;
            self.next_beat = self.now().plus(self.interval());
        }
        self.give_up_expired();
        beaten?;
        self.idle = self.renewal.running.is_empty();
        if self.idle {
            return Ok(NextTick::OnSignal);
        }
        Ok(NextTick::At(self.next_look(self.next_beat)))
    }

    /// Leases run out also while the store is away.
    fn after_error(&self) -> NextTick {
        NextTick::At(self.next_look(self.next_beat))
    }

    /// Something is in flight again. A new lease outlasts the interval, so the first beat is an interval away; one that the
    /// store granted long ago is given up before. Until then whatever else comes in wakes nothing here: this is the hot
    /// path of every execution.
    async fn signal(&mut self) -> NextTick {
        if !self.idle {
            return std::future::pending().await;
        }
        self.renewal.running.entered.notified().await;
        self.idle = false;
        self.next_beat = self.now().plus(self.interval());
        NextTick::At(self.next_look(self.next_beat))
    }
}

/// Asks the store about leases that a hint says were stopped: a hint is not believed, but it makes us look at once instead
/// of with the next beat.
pub(crate) struct StopCheck {
    renewal: Renewal,
    leases: Vec<(ExecutionId, Uuid)>,
}

impl StopCheck {
    pub(crate) fn new(runtime: &Runtime, running: Arc<RunningPasses>) -> Self {
        Self {
            renewal: Renewal::new(runtime, running),
            leases: Vec::new(),
        }
    }
}

impl Service for StopCheck {
    fn name(&self) -> &'static str {
        "stop_check"
    }

    fn first_tick(&self) -> NextTick {
        NextTick::OnSignal
    }

    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        let leases = std::mem::take(&mut self.leases);
        self.renewal.renew(leases).await?;
        Ok(NextTick::OnSignal)
    }

    /// The next beat asks again.
    fn after_error(&self) -> NextTick {
        NextTick::OnSignal
    }

    async fn signal(&mut self) -> NextTick {
        let clock = &self.renewal.clock;
        let doubtful = self.renewal.running.doubtful(|| clock.now()).await;
        self.leases.extend(doubtful);
        NextTick::Now
    }
}
