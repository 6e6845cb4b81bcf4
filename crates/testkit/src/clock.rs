//! Time and chance that a seed decides.
//!
//! [`SimClock`] runs on tokio's clock: under `#[tokio::test(start_paused = true)]` time passes only when
//! every task waits, so a simulated month costs no more than what happens in it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use pawl_kernel::id::Entropy;
use pawl_kernel::time::{Clock, Timestamp};

/// Where simulated time starts unless told: 2027-01-15 08:00 UTC.
pub const EPOCH: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// A wall clock that can be wrong. Clocks made by [`SimClock::skewed`] share one time line, each with its
/// own error, like the machines of a cluster.
pub struct SimClock {
    line: Arc<Line>,
    skew_micros: AtomicI64,
    stepped: Notify,
}

struct Line {
    origin: Instant,
    base: Timestamp,
}

impl SimClock {
    pub fn new() -> Self {
        Self::starting_at(EPOCH)
    }

    pub fn starting_at(base: Timestamp) -> Self {
        let origin = Instant::now();
        Self::on(Arc::new(Line { origin, base }), 0)
    }

    fn on(line: Arc<Line>, skew_micros: i64) -> Self {
        Self {
            line,
            skew_micros: AtomicI64::new(skew_micros),
            stepped: Notify::new(),
        }
    }

    /// Another machine's clock: the same time, wrong by so much.
    pub fn skewed(&self, skew_micros: i64) -> Self {
        Self::on(self.line.clone(), skew_micros)
    }

    /// Jumps, as a clock does when an operator sets it. Sleepers look again, and sleep on if it is not time yet.
    pub fn step(&self, by_micros: i64) {
        self.skew_micros.fetch_add(by_micros, Ordering::SeqCst);
        self.stepped.notify_waiters();
    }

    pub fn skew(&self) -> i64 {
        self.skew_micros.load(Ordering::SeqCst)
    }

    /// The time without this clock's error, for judges.
    pub fn true_now(&self) -> Timestamp {
        self.line.base.plus(self.line.origin.elapsed())
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let micros = self.true_now().as_micros().saturating_add(self.skew());
        Timestamp::from_micros(micros)
    }

    async fn sleep_until(&self, until: Timestamp) {
        loop {
            let stepped = self.stepped.notified();
            tokio::pin!(stepped);
            stepped.as_mut().enable();
            let now = self.now();
            if now >= until {
                return;
            }
            tokio::select! {
                biased;
                () = &mut stepped => {}
                () = tokio::time::sleep(until.since(now)) => {}
            }
        }
    }
}

/// A small generator (splitmix64): the same numbers for the same seed, on every machine, for ever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        // Seeds 0, 1, 2… must not give related streams.
        let mut rng = Self(seed ^ 0x5DEE_CE66_D1CE_4E5B);
        rng.next_u64();
        rng
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn next_u128(&mut self) -> u128 {
        u128::from(self.next_u64()) << 64 | u128::from(self.next_u64())
    }

    /// A number from 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "nothing is below zero");
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// True in `thousandths` of a thousand draws.
    pub fn chance(&mut self, thousandths: u32) -> bool {
        self.below(1000) < u64::from(thousandths)
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    pub fn duration(&mut self, from: Duration, to: Duration) -> Duration {
        let span = to.saturating_sub(from).as_micros() as u64;
        from + Duration::from_micros(self.below(span + 1))
    }

    pub fn uuid(&mut self) -> uuid::Uuid {
        uuid::Builder::from_random_bytes(self.next_u128().to_be_bytes()).into_uuid()
    }

    /// A stream of its own, so that one part's draws do not shift another's.
    pub fn fork(&mut self) -> Self {
        Self::new(self.next_u64())
    }
}

/// The entropy port, replayed by seed.
pub struct SeededEntropy(Mutex<Rng>);

impl SeededEntropy {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Rng::new(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn bits(&self) -> u128 {
        self.0.lock().unwrap().next_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_is_never_early_when_the_clock_goes_back() {
        let clock = Arc::new(SimClock::new());
        let until = EPOCH.plus(Duration::from_secs(10));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(until).await;
                (clock.now(), clock.true_now())
            }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        clock.step(-3 * SECOND);
        let (seen, real) = sleeper.await.unwrap();
        assert!(seen >= until);
        assert_eq!(real.since(EPOCH).as_secs(), 13);
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_forward_wakes_whoever_is_due() {
        let clock = Arc::new(SimClock::new());
        let until = EPOCH.plus(Duration::from_secs(3600));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(until).await }
        });
        tokio::task::yield_now().await;
        clock.step(3600 * SECOND);
        sleeper.await.unwrap();
        assert!(clock.true_now().since(EPOCH) < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn skewed_clocks_share_one_time_line() {
        let clock = SimClock::new();
        let other = clock.skewed(-2 * SECOND);
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(clock.now().since(other.now()), Duration::from_secs(2));
    }

    #[test]
    fn a_seed_is_a_stream_of_its_own() {
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            [rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(0), draw(1));
        assert!((0..1000).all(|seed| Rng::new(seed).below(7) < 7));
    }
}
