//! Evaluating expressions without keeping a thread from others: what is short is done at once, what turns out longer is
//! begun anew beside the runtime, for a limited time and a few at a time.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_kernel::expr::{Deadline, Limits, Meter};
use pawl_kernel::time::Clock;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::hints::lock;

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
