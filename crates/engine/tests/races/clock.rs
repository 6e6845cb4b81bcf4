//! A clock that stands still, and the bell that tells the test when something happened.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::time::{Clock, Timestamp};
use pawl_testkit::clock::EPOCH;
use tokio::sync::watch;

/// Rung after every call of the store, every call of an effect and every new sleeper.
#[derive(Clone)]
pub(crate) struct Bell(Arc<watch::Sender<u64>>);

impl Bell {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::channel(0).0))
    }

    pub(crate) fn ring(&self) {
        self.0.send_modify(|rings| *rings += 1);
    }

    /// Looks now and after every ring, until there is something to see.
    pub(crate) async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let mut rings = self.0.subscribe();
        loop {
            rings.mark_unchanged();
            if let Some(seen) = look().await {
                return seen;
            }
            rings.changed().await.unwrap();
        }
    }
}

/// Time passes when the test says so. Sleepers whose time has come wake then, all of them.
pub(crate) struct ManualClock {
    now: watch::Sender<Timestamp>,
    sleepers: Mutex<BTreeMap<u64, Timestamp>>,
    numbers: AtomicU64,
    bell: Bell,
}

impl ManualClock {
    pub(crate) fn new(bell: Bell) -> Self {
        Self {
            now: watch::channel(EPOCH).0,
            sleepers: Mutex::default(),
            numbers: AtomicU64::new(0),
            bell,
        }
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = now.plus(by));
    }

    /// Waits until somebody sleeps until exactly `at`.
    pub(crate) async fn until_sleeper_at(&self, at: Timestamp) {
        let sleeps = || {
            self.sleepers
                .lock()
                .unwrap()
                .values()
                .any(|until| *until == at)
        };
        self.bell.until(async || sleeps().then_some(())).await;
    }

    /// Goes to the time of the next sleeper, once there is one within `within`.
    pub(crate) async fn advance_to_sleeper(&self, within: Duration) {
        let (now, limit) = (self.now(), self.now().plus(within));
        let next = || {
            let sleepers = self.sleepers.lock().unwrap();
            sleepers.values().filter(|at| **at > now).min().copied()
        };
        let at = self
            .bell
            .until(async || next().filter(|at| *at <= limit))
            .await;
        self.advance(at.since(self.now()));
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    async fn sleep_until(&self, until: Timestamp) {
        let mut now = self.now.subscribe();
        if *now.borrow_and_update() >= until {
            return;
        }
        let _bed = Bed::lie_down(self, until);
        let _ = now.wait_for(|now| *now >= until).await;
    }
}

/// A sleeper's place; left when it wakes or is dropped.
struct Bed<'a> {
    clock: &'a ManualClock,
    number: u64,
}

impl<'a> Bed<'a> {
    fn lie_down(clock: &'a ManualClock, until: Timestamp) -> Self {
        let number = clock.numbers.fetch_add(1, Ordering::SeqCst);
        clock.sleepers.lock().unwrap().insert(number, until);
        clock.bell.ring();
        Self { clock, number }
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        self.clock.sleepers.lock().unwrap().remove(&self.number);
    }
}

/// Whoever passes waits until it is open.
pub(crate) struct Gate(watch::Sender<bool>);

impl Gate {
    pub(crate) fn shut() -> Arc<Self> {
        Arc::new(Self(watch::channel(false).0))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn pass(&self) {
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}
