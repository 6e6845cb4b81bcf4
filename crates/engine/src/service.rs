//! The frame of the background services. A service says what it does (`tick`) and when it wants to do it again
//! ([`NextTick`]); the [`ServiceRunner`] does the rest, once for all of them: the pause and its jitter, the log line for a
//! tick that failed, the end at shutdown, and the metric that shows when each service last got through a tick.
//!
//! Time and chance come through the ports, so a simulation decides both. A pause ([`NextTick::After`]) is shortened at
//! random by up to a tenth and never lengthened: processes that started together do not stay in step, and what is promised
//! about the longest pause still holds. A time that a service names ([`NextTick::At`]) is kept as it is.
//!
//! A tick that failed is logged, and tried again after the pause that the service asks for ([`Service::after_error`]). That
//! pause is also what limits the log to one line per try.
//!
//! What is driven by messages instead of time (the consumer, the reader of hints, the drain of dead letters) is no service
//! in this sense: it has nothing to tick for, and its pace is the queue's.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::Entropy;
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::time::{Clock, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::runtime::Runtime;

/// A pause is shortened by at most this part of itself.
const JITTER: u128 = 10;
/// How soon a tick that failed is tried again, unless the service says otherwise.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// When a service ticks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTick {
    Now,
    /// After about this long: see the module about jitter.
    After(Duration),
    /// At this very time.
    At(Timestamp),
    /// Only when [`Service::signal`] asks for it.
    OnSignal,
    /// The service has ended.
    Never,
}

/// Something that a process does again and again in the background.
pub trait Service: Send {
    /// The name in the log and in the metric.
    fn name(&self) -> &'static str;

    fn first_tick(&self) -> NextTick {
        NextTick::Now
    }

    /// Does what is to be done now. A shutdown drops the future where it is, as a crash would.
    fn tick(&mut self, now: Timestamp) -> impl Future<Output = StoreResult<NextTick>> + Send;

    /// When to try again after a tick that failed.
    fn after_error(&self) -> NextTick {
        NextTick::After(RETRY_AFTER)
    }

    /// Waits for a reason to tick sooner than planned, and says how soon. It is dropped when the planned time comes first,
    /// and called anew after each answer, so no reason may get lost in between.
    fn signal(&mut self) -> impl Future<Output = NextTick> + Send {
        std::future::pending()
    }
}

/// Runs services until they are stopped.
#[derive(Clone)]
pub struct ServiceRunner {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
}

impl ServiceRunner {
    /// Every service it runs ends at once when `stop` is cancelled.
    pub fn new(runtime: &Runtime, stop: CancellationToken) -> Self {
        Self {
            clock: runtime.clock.clone(),
            entropy: runtime.entropy.clone(),
            metrics: runtime.metrics.clone(),
            stop,
        }
    }

    pub async fn run(self, mut service: impl Service) {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.tick_on(&mut service) => {}
        }
    }

    async fn tick_on(&self, service: &mut impl Service) {
        let name = service.name();
        let last_tick = self.metrics.service_last_tick(name);
        last_tick.set(seconds(self.clock.now()));
        let mut next = service.first_tick();
        while next != NextTick::Never {
            self.wait(service, next).await;
            next = match service.tick(self.clock.now()).await {
                Ok(next) => {
                    last_tick.set(seconds(self.clock.now()));
                    next
                }
                Err(error) => {
                    tracing::warn!(service = name, %error, "a service failed; it will try again");
                    service.after_error()
                }
            };
        }
    }

    /// Sleeps until the next tick; a signal may bring it forward.
    async fn wait(&self, service: &mut impl Service, next: NextTick) {
        let mut deadline = self.deadline(next);
        loop {
            tokio::select! {
                biased;
                () = self.sleep(deadline) => return,
                sooner = service.signal() => {
                    deadline = deadline.into_iter().chain(self.deadline(sooner)).min();
                }
            }
        }
    }

    async fn sleep(&self, deadline: Option<Timestamp>) {
        match deadline {
            Some(at) => self.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// `None`: time alone brings no tick.
    fn deadline(&self, next: NextTick) -> Option<Timestamp> {
        match next {
            NextTick::Now => Some(self.clock.now()),
            NextTick::After(pause) => Some(self.clock.now().plus(self.with_jitter(pause))),
            NextTick::At(at) => Some(at),
            NextTick::OnSignal | NextTick::Never => None,
        }
    }

    fn with_jitter(&self, pause: Duration) -> Duration {
        let most = pause.as_micros() / JITTER;
        let less = self.entropy.bits() % (most + 1);
        pause.saturating_sub(Duration::from_micros(less as u64))
    }
}

/// Whole seconds since 1970, as the metric shows a time.
fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests;
