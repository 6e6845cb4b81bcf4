//! Evaluating expressions without keeping a thread from others: what is short is done at once, what turns out longer is
//! begun anew beside the runtime, for a limited time and a few at a time.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::expr::{Deadline, Limits, Meter};
use pawl_kernel::time::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::sync::lock;

/// Where long evaluations are made.
#[derive(Clone)]
pub(crate) struct Evaluations {
    clock: Arc<dyn Clock>,
    time: Duration,
    /// As many as there are cores: more would only make each of them slower, and their time is limited.
    places: Arc<Semaphore>,
}

impl Evaluations {
    pub(crate) fn new(clock: Arc<dyn Clock>, time: Duration) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            clock,
            time,
            places: Arc::new(Semaphore::new(cores)),
        }
    }

    /// A place among the long ones; kept until it is done. `None` never happens: the semaphore is not closed.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.places.acquire().await.ok()
    }

    /// Evaluates what is known to be long, on this thread but not on the runtime's time.
    pub(crate) fn long<T>(&self, work: impl FnOnce(&mut Meter) -> T) -> T {
        self.long_within(self.time, work)
    }

    /// The time is that of the clock on the wall, not of the processor: a machine that is busy otherwise, or whose clock is
    /// set forward, ends an evaluation early. A clock that is set back leaves the limit of steps.
    fn long_within<T>(&self, time: Duration, work: impl FnOnce(&mut Meter) -> T) -> T {
        let clock = self.clock.clone();
        let until = clock.now().plus(time);
        let deadline = Deadline::new(self.time, move || clock.now() > until);
        let mut meter = Meter::new(Limits::default()).with_deadline(deadline);
        beside_the_runtime(|| work(&mut meter))
    }

    /// Evaluates what is most often short, and where nothing can be waited for. What is long takes a place if one is free:
    /// a thread that waited for one could not serve the rest meanwhile.
    pub(crate) fn evaluate<T>(&self, mut work: impl FnMut(&mut Meter) -> T) -> T {
        let mut meter = Meter::short();
        let result = work(&mut meter);
        match meter.is_spent() {
            true => {
                let _place = self.places.try_acquire();
                self.long(work)
            }
            false => result,
        }
    }

    /// Evaluates what is most often short; if it is long, when there is a place for it.
    pub(crate) async fn evaluate_in_turn<T>(&self, mut work: impl FnMut(&mut Meter) -> T) -> T {
        let mut meter = Meter::short();
        let result = work(&mut meter);
        if !meter.is_spent() {
            return result;
        }
        drop(result);
        // A caller that polls once to see whether it is over at once must not do the long work in that poll.
        tokio::task::yield_now().await;
        let _place = self.place().await;
        self.long(work)
    }

    /// Evaluates what is known to be long and belongs with others, which have `time` together. Like
    /// [`evaluate`](Self::evaluate) it does not wait for a place.
    pub(crate) fn long_together<T>(
        &self,
        time: &SharedTime,
        work: impl FnOnce(&mut Meter) -> T,
    ) -> T {
        let _place = self.places.try_acquire();
        let left = self.time.saturating_sub(*lock(&time.used));
        let began = self.clock.now();
        let result = self.long_within(left, work);
        *lock(&time.used) += self.clock.now().since(began);
        result
    }
}

/// What long evaluations that belong together have used of their time; what passes between them does not count.
#[derive(Default)]
pub(crate) struct SharedTime {
    used: Mutex<Duration>,
}

/// The runtime gives this thread's other work to another one first; a runtime of one thread makes one for it.
fn beside_the_runtime<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use pawl_kernel::expr::{Expression, Scope};
    use pawl_testkit::clock::SimClock;
    use serde_json::Map;

    use super::*;

    /// The timers poll each attempt once, to see whether it is over at once.
    #[tokio::test]
    async fn long_work_is_not_done_in_the_first_poll() {
        let evaluations = Evaluations::new(Arc::new(SimClock::default()), Duration::from_secs(1));
        let roots = Map::new();
        let length = |text: &str| {
            let expression = Expression::compile(text).unwrap();
            let scope = Scope::new(&roots, 0, "", 0);
            let evaluations = &evaluations;
            evaluations.evaluate_in_turn(move |meter| expression.evaluate(&scope, meter).ok())
        };
        assert_eq!(
            length("1 + 1").now_or_never(),
            Some(Some(2.into())),
            "short"
        );
        let long = "len(filter(range(0, 4000), i => i % 7 == 3))";
        assert_eq!(length(long).now_or_never(), None);
        assert_eq!(length(long).await, Some(571.into()));
    }
}
