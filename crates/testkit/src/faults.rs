//! A bad day, by seed: what can happen to one worker's calls of its store and queue.
//!
//! Each worker of a simulation has its own [`Faults`] with its own stream of chance; all of them share one
//! [`FaultControl`], which counts what fired and can make it stop. A crash never returns to the caller: it
//! raises the worker's [`Crash`] flag and waits for ever, and from then on no call of that worker gets
//! through, until the supervisor has aborted its tasks.

mod desk;
mod history;
mod overview;
mod queue;
mod quotas;
mod retention;
mod schedule;
mod store;
mod webhooks;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use pawl_kernel::time::Clock;

use crate::clock::Rng;

pub use queue::FaultyQueue;
pub use store::FaultyStore;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing happened, and the caller learns so.
    ErrorBefore,
    /// It happened, and the caller learns that the outcome is unknown.
    ErrorAfter,
    /// It happens, much later.
    Delay,
    CrashBefore,
    CrashAfter,
    /// Confirmed, and lost.
    PublishLost,
    PublishDoubled,
    PublishDelayed,
    PublishReordered,
    /// Published, and the confirmation is lost.
    PublishUnconfirmed,
    /// The message comes back although the worker believes it gone.
    AckLost,
    /// The worker dies with the messages in its hands.
    ReceiveCrash,
}

impl Fault {
    pub const ALL: &'static [Self] = &[
        Self::ErrorBefore,
        Self::ErrorAfter,
        Self::Delay,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::PublishLost,
        Self::PublishDoubled,
        Self::PublishDelayed,
        Self::PublishReordered,
        Self::PublishUnconfirmed,
        Self::AckLost,
        Self::ReceiveCrash,
    ];
}

/// How often each fault strikes, in thousandths of the calls it can strike.
#[derive(Clone, Debug)]
pub struct Rates {
    pub thousandths: [u32; Fault::ALL.len()],
    /// The longest delay; most are much shorter.
    pub delay_max: Duration,
}

impl Rates {
    pub fn none() -> Self {
        Self {
            thousandths: [0; Fault::ALL.len()],
            delay_max: Duration::from_secs(45),
        }
    }

    /// Everything, at the same rate.
    pub fn all(thousandths: u32) -> Self {
        Self {
            thousandths: [thousandths; Fault::ALL.len()],
            ..Self::none()
        }
    }

    pub fn with(mut self, fault: Fault, thousandths: u32) -> Self {
        self.thousandths[fault as usize] = thousandths;
        self
    }

    fn of(&self, fault: Fault) -> u32 {
        self.thousandths[fault as usize]
    }
}

impl Default for Rates {
    /// A bad day that work can still be done on: crashes are rarer than the rest.
    fn default() -> Self {
        [Fault::CrashBefore, Fault::CrashAfter, Fault::ReceiveCrash]
            .into_iter()
            .fold(Self::all(20), |rates, crash| rates.with(crash, 4))
    }
}

/// What strikes when.
#[derive(Clone, Debug)]
pub enum FaultPlan {
    Never,
    Random {
        rng: Rng,
        rates: Rates,
    },
    /// The call with this number (from 1), and no other: for sweeps over every call there is. A fault that
    /// cannot strike that call does nothing.
    At {
        call: u64,
        fault: Fault,
    },
}

impl FaultPlan {
    pub fn random(seed: u64, rates: Rates) -> Self {
        Self::Random {
            rng: Rng::new(seed),
            rates,
        }
    }

    fn draw(&mut self, call: u64, possible: &[Fault]) -> Option<Fault> {
        match self {
            Self::Never => None,
            Self::At { call: at, fault } => {
                (*at == call && possible.contains(fault)).then_some(*fault)
            }
            Self::Random { rng, rates } => {
                let mut draw = rng.below(1000) as u32;
                possible.iter().copied().find(|fault| {
                    let rate = rates.of(*fault);
                    let strikes = draw < rate;
                    draw = draw.saturating_sub(rate);
                    strikes
                })
            }
        }
    }

    fn delay(&mut self) -> Duration {
        let Self::Random { rng, rates } = self else {
            return Rates::none().delay_max;
        };
        // One in four may last as long as it likes, past any lease; the rest are hiccups.
        let longest = if rng.chance(250) {
            rates.delay_max
        } else {
            rates.delay_max / 50
        };
        rng.duration(Duration::ZERO, longest)
    }
}

/// Shared by all workers of a simulation.
#[derive(Clone, Default)]
pub struct FaultControl {
    shared: Arc<FaultState>,
}

#[derive(Default)]
struct FaultState {
    calm: AtomicBool,
    counts: FaultCounts,
}

impl FaultControl {
    pub fn new() -> Self {
        Self::default()
    }

    /// No more faults: let it settle.
    pub fn stop(&self) {
        self.shared.calm.store(true, Ordering::SeqCst);
    }

    pub fn resume(&self) {
        self.shared.calm.store(false, Ordering::SeqCst);
    }

    pub fn is_calm(&self) -> bool {
        self.shared.calm.load(Ordering::SeqCst)
    }

    pub fn counts(&self) -> &FaultCounts {
        &self.shared.counts
    }
}

/// How often each fault fired, so that a test can demand that all of them did.
#[derive(Debug, Default)]
pub struct FaultCounts([AtomicU64; Fault::ALL.len()]);

impl FaultCounts {
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize].load(Ordering::SeqCst)
    }

    pub fn total(&self) -> u64 {
        Fault::ALL.iter().map(|fault| self.of(*fault)).sum()
    }

    /// The kinds that fired fewer than `quota` times.
    pub fn missing(&self, quota: u64) -> Vec<Fault> {
        let all = Fault::ALL.iter().copied();
        all.filter(|fault| self.of(*fault) < quota).collect()
    }

    /// Adds another run's counts, for a quota over many seeds.
    pub fn add(&self, other: &Self) {
        for fault in Fault::ALL {
            self.0[*fault as usize].fetch_add(other.of(*fault), Ordering::SeqCst);
        }
    }

    fn count(&self, fault: Fault) {
        self.0[fault as usize].fetch_add(1, Ordering::SeqCst);
    }
}

/// Says that a worker is dead.
#[derive(Default)]
pub struct Crash {
    down: AtomicBool,
    raised: Notify,
}

impl Crash {
    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }

    /// Returns once the worker has crashed: the supervisor then aborts its tasks and drops its consumer.
    pub async fn wait(&self) {
        let raised = self.raised.notified();
        tokio::pin!(raised);
        raised.as_mut().enable();
        if !self.is_down() {
            raised.await;
        }
    }

    /// Kills the worker from outside, between any two of its calls.
    pub fn raise(&self) {
        self.down.store(true, Ordering::SeqCst);
        self.raised.notify_waiters();
    }

    async fn strike<T>(&self) -> T {
        self.raise();
        std::future::pending().await
    }

    async fn check(&self) {
        if self.is_down() {
            std::future::pending::<()>().await;
        }
    }
}

/// What happens to one worker.
pub struct Faults {
    plan: Mutex<FaultPlan>,
    calls: AtomicU64,
    control: FaultControl,
    clock: Arc<dyn Clock>,
    crash: Arc<Crash>,
}

impl Faults {
    pub fn new(plan: FaultPlan, control: FaultControl, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            plan: Mutex::new(plan),
            calls: AtomicU64::new(0),
            control,
            clock,
            crash: Arc::default(),
        })
    }

    pub fn crash(&self) -> &Arc<Crash> {
        &self.crash
    }

    /// How many calls this worker has made: the length of a sweep.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn draw(&self, possible: &[Fault]) -> Option<Fault> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if self.control.is_calm() {
            return None;
        }
        let fault = self.plan.lock().unwrap().draw(call, possible)?;
        self.control.counts().count(fault);
        Some(fault)
    }

    fn delay(&self) -> Duration {
        self.plan.lock().unwrap().delay()
    }

    async fn dawdle(&self) {
        let until = self.clock.now().plus(self.delay());
        self.clock.sleep_until(until).await;
        self.crash.check().await;
    }
}
